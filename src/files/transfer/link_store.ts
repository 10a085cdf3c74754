/** Links in the storage, so that any instance serves them and each is used up once. */
import * as z from "zod";
import type { Principal } from "../../lib/principal.ts";
import { equalInConstantTime, hashSecret, randomText, type SecretBox } from "../../lib/secrets.ts";
import { parseStored } from "../../lib/system_fault.ts";
import type { Storage, StorageKey } from "../../storage/mod.ts";

/** What bounds transfers; each instance counts for itself. */
export const transferLimits = {
  /** A transfer has to begin within this time. */
  linkLifetimeMs: 600_000,
  /** How long one request may take, and a download that broke may go on. Store workspaces sweep what was staged an hour ago. */
  maxTransferMs: 3_000_000,
  /** How long one piece may take, either way: with its size, the least speed of a transfer. */
  stallMs: 60_000,
  maxAtOnce: 64,
  maxAtOncePerPerson: 8,
  /** For each link, those that are used up included: each request reads the storage. */
  requestsPerMinute: 120,
};

export type TransferLimits = Readonly<typeof transferLimits>;

/** So much is read, or gathered before it is written, in one step: at {@link TransferLimits.stallMs} 4 kB a second. */
export const pieceBytes = 262_144;

// What is stored of a link: never its secret, only what the secret's hash leads to.

const shared = {
  principal: z.object({
    subject: z.string(),
    clientId: z.string(),
    grantId: z.string(),
    tokenId: z.string(),
    keyId: z.string().nullable(),
    scopes: z.array(z.string()),
    expiresAt: z.number(),
  }),
  path: z.string(),
  /** The rule that asked about the call which made the link. */
  approvedFor: z.string().optional(),
  expiresAt: z.number(),
  /** The request that may transfer: the one that came last. */
  holder: z.string().nullable(),
};

const downloadSchema = z.object({
  ...shared,
  direction: z.literal("download"),
  version: z.string(),
  sizeBytes: z.number(),
  /** The ETag of its answers, which only they tell. */
  tag: z.string(),
  /** The byte after the last that was sent; `null` before the transfer has begun. */
  sentTo: z.number().nullable().default(null),
  /** Answers that sent again at least as much as was new in them. */
  repeats: z.number().default(0),
});
const uploadSchema = z.object({
  ...shared,
  direction: z.literal("upload"),
  mode: z.enum(["create", "overwrite"]),
  ifMatch: z.string().optional(),
  /** All of the file has arrived, and is being put in place: no other request may upload. */
  isUsed: z.boolean().default(false),
});

const linkSchema = z.discriminatedUnion("direction", [downloadSchema, uploadSchema]);

export type DownloadRecord = z.output<typeof downloadSchema>;
export type UploadRecord = z.output<typeof uploadSchema>;
export type TransferRecord = z.output<typeof linkSchema>;

/** When no request is taken any more: a download that has begun may go on for as long as one request may take. */
export function endOfLink(record: TransferRecord, { maxTransferMs }: TransferLimits): number {
  const hasBegun = record.direction === "download" && record.sentTo !== null;
  return record.expiresAt + (hasBegun ? maxTransferMs : 0);
}

export function principalOf({ principal }: TransferRecord): Principal {
  return { ...principal, scopes: new Set(principal.scopes) };
}

export function storedPrincipal(principal: Principal): TransferRecord["principal"] {
  return { ...principal, scopes: [...principal.scopes] };
}

export interface TransferStore {
  /** Stores a link and gives its secret, which is kept nowhere. */
  issue(record: TransferRecord): Promise<string>;
  /** The id of a secret that this installation issued; `null` for a forged one, without a look at the storage. */
  idOf(secret: string): string | null;
  read(id: string): Promise<TransferRecord | null>;
  /** Changes the record, or deletes it, unless it changed meanwhile; `false` where `change` wants neither. */
  update(id: string, change: (record: TransferRecord) => TransferRecord | "delete" | "leave"): Promise<boolean>;
}

const randomBytesOfSecret = 24;
const randomLength = 32;
const markLength = 22; // 132 bits
const maxAttempts = 20;

export function createTransferStore(
  { storage, secrets, keepMs }: {
    readonly storage: Storage;
    readonly secrets: Pick<SecretBox, "authenticate">;
    /** How long after its end a link may still be running. */
    readonly keepMs: number;
  },
): TransferStore {
  const keyOf = (id: string): StorageKey => ["transfer_link", id];
  const markOf = (random: string): string => secrets.authenticate("transfer-link", random).slice(0, markLength);
  const parse = (value: unknown): TransferRecord => parseStored(linkSchema, value, "transfer_link");
  return {
    async issue(record) {
      const random = randomText(randomBytesOfSecret);
      const secret = random + markOf(random);
      await storage.commit({
        puts: [{ key: keyOf(hashSecret(secret)), value: record, expiresAt: record.expiresAt + keepMs }],
      });
      return secret;
    },
    idOf(secret) {
      if (secret.length !== randomLength + markLength) return null;
      const isOurs = equalInConstantTime(secret.slice(randomLength), markOf(secret.slice(0, randomLength)));
      return isOurs ? hashSecret(secret) : null;
    },
    async read(id) {
      const stored = await storage.get(keyOf(id));
      return stored === null ? null : parse(stored.value);
    },
    async update(id, change) {
      const key = keyOf(id);
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        const stored = await storage.get(key);
        if (stored === null) return false;
        const changed = change(parse(stored.value));
        if (changed === "leave") return false;
        const checks = [{ key, version: stored.version }];
        const done = await storage.commit(
          changed === "delete"
            ? { checks, deletes: [key] }
            : { checks, puts: [{ key, value: changed, expiresAt: changed.expiresAt + keepMs }] },
        );
        if (done) return true;
      }
      return false;
    },
  };
}
