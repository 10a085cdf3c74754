/**
 * The stored link between a user here and an account at the instance. Its secrets are sealed with the user and the
 * instance as context: a row copied to another user's key does not open.
 */
import * as z from "zod";
import { parseStored } from "../lib/storage_fault.ts";
import type { SecretBox } from "../lib/secret_box.ts";
import type { StorageKey } from "../storage/port.ts";

const linkRecordSchema = z.object({
  /** The instance's origin: a link to one instance is never used with another. */
  instance: z.string(),
  /** `null` once the instance has refused the refresh token: the tokens are gone, the fact stays. */
  sealed: z.string().nullable(),
  linkedAt: z.number(),
  /** Absent in links of earlier versions. */
  renewedAt: z.number().optional(),
  /** Why the tokens are gone. */
  refused: z.object({ at: z.number(), said: z.string().nullable(), sealedAccount: z.string() }).optional(),
});

export type LinkRecord = z.output<typeof linkRecordSchema>;

const accountSchema = z.object({ sysId: z.string(), userName: z.string(), name: z.string() });

const linkSecretsSchema = z.object({
  accessToken: z.string(),
  refreshToken: z.string().nullable(),
  expiresAt: z.number(),
  /** From when on the access token is renewed. */
  refreshAt: z.number(),
  account: accountSchema,
});

export type LinkSecrets = z.output<typeof linkSecretsSchema>;

export type InstanceAccount = LinkSecrets["account"];

/** In place of the instance's word, where there was nothing to ask it with. */
export const noRefreshToken = "no_refresh_token";

export const linkPrefix: StorageKey = ["servicenow_link"];

/** Where the link of a user is; `subject` is the `sub` of their tokens. */
export function linkKey(subject: string): StorageKey {
  return [...linkPrefix, subject];
}

/** Parses a stored link. Throws when it is none. */
export function parseLinkRecord(value: unknown): LinkRecord {
  return parseStored(linkRecordSchema, value, "servicenow_link");
}

/** Seals one kind of secret of a link, and opens it again. */
interface Seal<T> {
  seal(secrets: SecretBox, subject: string, instance: string, value: T): Promise<string>;
  /** `null` when it was sealed under another key, for another user or another instance. */
  open(secrets: SecretBox, subject: string, instance: string, sealed: string): Promise<T | null>;
}

function sealFor<T>(purpose: string, schema: z.ZodType<T>): Seal<T> {
  const contextOf = (subject: string, instance: string): string => JSON.stringify([instance, subject]);
  return {
    seal: (secrets, subject, instance, value) =>
      secrets.seal(purpose, JSON.stringify(value), contextOf(subject, instance)),
    async open(secrets, subject, instance, sealed) {
      const text = await secrets.open(purpose, sealed, contextOf(subject, instance));
      return text === null ? null : parseStored(schema, JSON.parse(text), "servicenow_link");
    },
  };
}

/** What a link holds. */
export const sealedLink: Seal<LinkSecrets> = sealFor("servicenow-link", linkSecretsSchema);

/** Whose link it was, once its tokens are gone. */
export const linkedAccount: Seal<InstanceAccount> = sealFor("servicenow-link-account", accountSchema);
