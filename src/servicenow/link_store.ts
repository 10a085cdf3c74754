/** Reads and writes stored links; the only place that seals and opens them. */
import * as z from "zod";
import { parseStored } from "../lib/system_fault.ts";
import type { SecretBox } from "../lib/secrets.ts";
import type { Put, Storage, StorageKey, StoredEntry } from "../storage/mod.ts";
import type { Log } from "../lib/log.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { LinkHealth } from "../oauth/mod.ts";
import { pagesBelow } from "../lib/stored_entries.ts";

// * The stored link between a user here and an account at the instance. Its secrets are sealed with the user and the
// instance as context: a row copied to another user's key does not open.

const linkRecordSchema = z.object({
  /** The instance's origin: a link to one instance is never used with another. */
  instance: z.string(),
  /** `null` once the instance has refused the refresh token: the tokens are gone, the fact stays. */
  sealed: z.string().nullable(),
  linkedAt: z.number(),
  /** Absent once the tokens are gone. */
  renewedAt: z.number().optional(),
  /** Why the tokens are gone. */
  refused: z.object({ at: z.number(), said: z.string().nullable(), sealedAccount: z.string() }).optional(),
});

type LinkRecord = z.output<typeof linkRecordSchema>;

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

/** An access token and whose it is. Lives as long as one call. */
export type LinkedAccess = Pick<LinkSecrets, "accessToken" | "account">;

/** In place of the instance's word, where there was nothing to ask it with. */
export const noRefreshToken = "no_refresh_token";

const linkPrefix: StorageKey = ["servicenow_link"];

/** Where the link of a user is; `subject` is the `sub` of their tokens. */
export function linkKey(subject: string): StorageKey {
  return [...linkPrefix, subject];
}

/** Parses a stored link. Throws when it is none. */
export function parseLinkRecord(value: unknown): LinkRecord {
  return parseStored(linkRecordSchema, value, "servicenow_link");
}

/** Seals one kind of secret of a link, and opens it again. */
function sealFor<T>(purpose: string, schema: z.ZodType<T>) {
  const contextOf = (subject: string, instance: string): string => JSON.stringify([instance, subject]);
  const seal = (secrets: SecretBox, subject: string, instance: string, value: T): Promise<string> =>
    secrets.seal(purpose, JSON.stringify(value), contextOf(subject, instance));
  /** `null` when it was sealed under another key, for another user or another instance. */
  const open = async (secrets: SecretBox, subject: string, instance: string, sealed: string): Promise<T | null> => {
    const text = await secrets.open(purpose, sealed, contextOf(subject, instance));
    return text === null ? null : parseStored(schema, JSON.parse(text), "servicenow_link");
  };
  return {
    seal,
    open,
    async reseal({ from, to }: NewKeys, subject: string, instance: string, sealed: string): Promise<Resealed> {
      if (await open(to, subject, instance, sealed) !== null) return failure("upToDate");
      const value = await open(from, subject, instance, sealed);
      return value === null ? failure("unreadable") : success(await seal(to, subject, instance, value));
    },
  };
}

type Resealed = Result<string, "upToDate" | "unreadable">;

/** What a link holds. */
export const sealedLink = sealFor("servicenow-link", linkSecretsSchema);

/** Whose link it was, once its tokens are gone. */
const linkedAccount = sealFor("servicenow-link-account", accountSchema);

/** Links that are listed at most. */
const maxListed = 500;

/**
 * Keeps each user's linked account and its tokens, sealed. An entry that was sealed for another user or instance does
 * not open.
 */
export function createLinkStore({ instance: { origin }, storage, secrets, log }: {
  readonly instance: { readonly origin: string };
  readonly storage: Storage;
  readonly secrets: SecretBox;
  readonly log: Log;
}) {
  const healthOf = async (subject: string, record: LinkRecord): Promise<LinkHealth> => {
    const { sealed, linkedAt, renewedAt = linkedAt, refused } = record;
    const account = sealed !== null
      ? (await sealedLink.open(secrets, subject, origin, sealed))?.account ?? null
      : refused === undefined
      ? null
      : await linkedAccount.open(secrets, subject, origin, refused.sealedAccount);
    const ended = refused?.said === noRefreshToken ? "no_refresh_token" : "refused";
    return {
      subject,
      state: sealed === null ? ended : account === null ? "unreadable" : "linked",
      account,
      linkedAt,
      renewedAt,
      refusedAt: refused?.at ?? null,
      said: refused?.said === noRefreshToken ? null : refused?.said ?? null,
    };
  };
  /** A link as it was read, with the condition that it is still so. */
  const open = async (subject: string, entry: StoredEntry | null) => {
    if (entry === null) return failure({ reason: "not_linked" } as const);
    const { sealed, linkedAt, instance } = parseLinkRecord(entry.value);
    if (instance !== origin) return failure({ reason: "not_linked" } as const);
    if (sealed === null) return failure({ reason: "link_expired" } as const);
    const link = await sealedLink.open(secrets, subject, origin, sealed);
    if (link !== null) return success({ link, linkedAt, unchanged: { key: entry.key, version: entry.version } });
    log.write("error", "servicenow_link_unreadable", { subject });
    return failure({ reason: "link_expired" } as const); // sealed under a key that is gone
  };
  return {
    read: async (subject: string) => await open(subject, await storage.get(linkKey(subject))),
    /** Takes the link out. What is found is what was stored last, also where it is renewed at this moment. */
    take: async (subject: string) => await open(subject, await storage.consume(linkKey(subject))),
    async put(
      subject: string,
      link: LinkSecrets,
      { linkedAt, at }: { readonly linkedAt: number; readonly at: number },
    ): Promise<Put> {
      const sealed = await sealedLink.seal(secrets, subject, origin, link);
      return { key: linkKey(subject), value: { instance: origin, sealed, linkedAt, renewedAt: at } };
    },
    /** Leaves only the fact that there was a link, and why it ended. */
    async putRefused(
      subject: string,
      { account }: LinkSecrets,
      { linkedAt, at, said }: { readonly linkedAt: number; readonly at: number; readonly said: string | null },
    ): Promise<Put> {
      const refused = { at, said, sealedAccount: await linkedAccount.seal(secrets, subject, origin, account) };
      return { key: linkKey(subject), value: { instance: origin, sealed: null, linkedAt, refused } };
    },
    /** The links of one person, or of everyone. */
    async health(subject: string | null): Promise<readonly LinkHealth[]> {
      const entry = subject === null ? null : await storage.get(linkKey(subject));
      const entries = subject === null ? await storage.list(linkPrefix, { limit: maxListed }) : entry ? [entry] : [];
      const healths: LinkHealth[] = [];
      for (const { key, value } of entries) {
        const record = parseLinkRecord(value);
        if (record.instance === origin) healths.push(await healthOf(key.at(-1) ?? "", record));
      }
      return healths;
    },
  };
}

/** Seals what opens with `from` under `to`. May be repeated, and interrupted at any point. */
export async function resealLinks(storage: Storage, keys: NewKeys) {
  const report = {
    resealed: 0,
    /** Already under the new key, or without tokens. */
    upToDate: 0,
    /** Under neither key: these users have to link their accounts again. */
    unreadable: 0,
  };
  for await (const page of pagesBelow(storage, linkPrefix)) {
    for (const entry of page) report[await resealEntry(storage, entry, keys)] += 1;
  }
  return report;
}

type NewKeys = Readonly<Record<"from" | "to", SecretBox>>;

async function resealEntry(storage: Storage, listed: StoredEntry, keys: NewKeys) {
  let entry: StoredEntry | null = listed;
  while (entry !== null) {
    const { key, version } = entry;
    const subject = key.at(-1) ?? "";
    const record = parseLinkRecord(entry.value);
    const { sealed, instance, refused } = record;
    // Of a refused link, whose account it was: without it, the fact of the refusal stays.
    const text = sealed ?? refused?.sealedAccount;
    if (text === undefined) return "upToDate";
    const resealed = await (sealed === null ? linkedAccount : sealedLink).reseal(keys, subject, instance, text);
    if (!resealed.ok) return sealed === null ? "upToDate" : resealed.error;
    const value = sealed === null
      ? { ...record, refused: { ...refused, sealedAccount: resealed.value } }
      : { ...record, sealed: resealed.value };
    const isDone = await storage.commit({ checks: [{ key, version }], puts: [{ key, value }] });
    if (isDone) return sealed === null ? "upToDate" : "resealed";
    entry = await storage.get(key); // changed in the meantime
  }
  return "upToDate"; // unlinked in the meantime
}
