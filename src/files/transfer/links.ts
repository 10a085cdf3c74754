/** Links in the storage, so that any instance serves them and each is used up once. */
import * as z from "zod";
import type { Principal } from "../../lib/principal.ts";
import { equalInConstantTime, hashSecret, randomText, type SecretBox } from "../../lib/secrets.ts";
import { changeEntry } from "../../lib/stored_entries.ts";
import { parseStored } from "../../lib/system_fault.ts";
import type { Storage, StorageKey } from "../../storage/mod.ts";
import type { Peer } from "../../lib/endpoint.ts";
import type { Log, LogFields } from "../../lib/log.ts";
import { atMost, createPause, type Timers } from "../../lib/time.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace, WorkspaceRefusal } from "../workspace/port.ts";

/** What bounds transfers; each instance counts for itself. */
export const transferLimits = {
  /** A transfer has to begin within this time. */
  linkLifetimeMs: 600_000,
  /** How long one request may take. Store workspaces sweep what was staged an hour ago. */
  maxTransferMs: 3_000_000,
  /** How long one piece may take, either way: with its size, the least speed of a transfer. */
  stallMs: 60_000,
  maxAtOnce: 64,
  maxAtOncePerPerson: 8,
  /** For each link, used ones included: each request reads the storage. */
  requestsPerMinute: 120,
};

/** The bounds of transfers, which a test of a started server shortens. */
export type TransferLimits = Readonly<typeof transferLimits>;

/** So much is read, or gathered before it is written, in one step: at {@link TransferLimits.stallMs} 4 kB a second. */
export const pieceBytes = 262_144;

const shared = {
  principal: z.object({
    subject: z.string(),
    clientId: z.string(),
    grantId: z.string(),
    tokenId: z.string(),
    keyId: z.string().nullable(),
    scopes: z.array(z.string()),
    directories: z.array(z.string()).readonly().optional(),
    expiresAt: z.number(),
  }),
  path: z.string(),
  /** The rule that asked about the call which made the link. */
  approvedFor: z.string().optional(),
  expiresAt: z.number(),
  /** A download has begun, or all of an upload has arrived and is being put in place: no other request may transfer. */
  isUsed: z.boolean().default(false),
};

const downloadSchema = z.object({
  ...shared,
  direction: z.literal("download"),
  version: z.string(),
  sizeBytes: z.number(),
});
const uploadSchema = z.object({
  ...shared,
  direction: z.literal("upload"),
  mode: z.enum(["create", "overwrite"]),
  ifMatch: z.string().optional(),
  /** Of an approved link: what was there, and where links led. */
  approvedState: z.string().optional(),
});

const linkSchema = z.discriminatedUnion("direction", [downloadSchema, uploadSchema]);

export type DownloadRecord = z.output<typeof downloadSchema>;
export type UploadRecord = z.output<typeof uploadSchema>;
export type TransferRecord = z.output<typeof linkSchema>;

export function principalOf({ principal }: TransferRecord): Principal {
  return { ...principal, scopes: new Set(principal.scopes) };
}

const randomBytesOfSecret = 24;
const randomLength = 32;
const markLength = 22; // 132 bits

export function createTransferStore(
  { storage, secrets, keepMs }: {
    readonly storage: Storage;
    readonly secrets: Pick<SecretBox, "authenticate">;
    /** How long after its end a link may still be running. */
    readonly keepMs: number;
  },
) {
  const keyOf = (id: string): StorageKey => ["transfer_link", id];
  const markOf = (random: string): string => secrets.authenticate("transfer-link", random).slice(0, markLength);
  const parse = (value: unknown): TransferRecord => parseStored(linkSchema, value, "transfer_link");
  return {
    /** Stores a link and gives its secret, which is kept nowhere. */
    async issue(record: TransferRecord): Promise<string> {
      const random = randomText(randomBytesOfSecret);
      const secret = random + markOf(random);
      await storage.commit({
        puts: [{ key: keyOf(hashSecret(secret)), value: record, expiresAt: record.expiresAt + keepMs }],
      });
      return secret;
    },
    /** The id of a secret that this installation issued; `null` for a forged one, without a look at the storage. */
    idOf(secret: string): string | null {
      if (secret.length !== randomLength + markLength) return null;
      const isOurs = equalInConstantTime(secret.slice(randomLength), markOf(secret.slice(0, randomLength)));
      return isOurs ? hashSecret(secret) : null;
    },
    async read(id: string): Promise<TransferRecord | null> {
      const stored = await storage.get(keyOf(id));
      return stored === null ? null : parse(stored.value);
    },
    /** Uses a link up, or gives it back; `false` where that was done before, or there is none. */
    async setUsed(id: string, isUsed: boolean): Promise<boolean> {
      const changed = (value: unknown) => {
        const record = value === undefined ? null : parse(value);
        return record === null || record.isUsed === isUsed ? null : { ...record, isUsed };
      };
      const expiresAt = (record: TransferRecord): number => record.expiresAt + keepMs;
      return await changeEntry(storage, keyOf(id), changed, { expiresAt }) !== null;
    },
  };
}

/** How a request ended. */
export type TransferEnd =
  | "whole"
  | "hung_up"
  | "stalled"
  | "too_long"
  | "too_fragmented"
  | "used_up"
  | "access_ended"
  | "not_allowed"
  | "changed"
  | "refused"
  | "stopped";

/** What a link is judged by, when it is made and before each piece. */
export interface Access {
  /** Whether a person still has the access with which a link was made. */
  isLive(principal: Principal): Promise<boolean>;
  /** What the rules about calls say of a transfer; `ask` with the id of the rule that asks. */
  judge(
    transfer: Pick<TransferRecord, "direction" | "path"> & { readonly principal: Principal },
  ): Promise<"allow" | "deny" | { readonly ask: string }>;
  /** Differs whenever one of these may. */
  changeCount(): number | Promise<number>;
}

/** Why a transfer by this link may not be; `null` where it may. A call that was asked about was approved for its rule. */
export async function refusalOf(
  access: Access,
  record: TransferRecord,
): Promise<"access_ended" | "not_allowed" | null> {
  const principal = principalOf(record);
  if (!await access.isLive(principal)) return "access_ended";
  const verdict = await access.judge({ ...record, principal });
  if (verdict === "allow") return null;
  return verdict === "deny" || verdict.ask !== record.approvedFor ? "not_allowed" : null;
}

/** One request that transfers. */
export type Running = NonNullable<ReturnType<ReturnType<typeof createRunningTransfers>["begin"]>>;

interface RunningTransfer {
  readonly person: string;
  readonly isUpload: boolean;
  /** Aborts with a {@link TransferEnd}. */
  readonly cutter: AbortController;
  readonly ended: Promise<void>;
}

export function createRunningTransfers(
  { access, limits, timers, log }: {
    readonly access: Access;
    readonly limits: TransferLimits;
    readonly timers: Timers;
    readonly log: Log;
  },
) {
  const all = new Set<RunningTransfer>();
  let isStopping = false;
  const isFull = (person: string): boolean =>
    all.size >= limits.maxAtOnce ||
    [...all].filter((each) => each.person === person).length >= limits.maxAtOncePerPerson;

  const cut = (fits: (running: RunningTransfer) => boolean): void => {
    for (const each of all) if (fits(each)) each.cutter.abort("stopped" satisfies TransferEnd);
  };
  return {
    /** Begins one; `null` where there are too many. */
    begin(id: string, record: TransferRecord, { address }: Peer) {
      const person = record.principal.subject;
      if (isStopping || isFull(person)) return null;
      const cutter = new AbortController();
      const over = Promise.withResolvers<void>();
      const own = { person, isUpload: record.direction === "upload", cutter, ended: over.promise };
      all.add(own);
      const { signal } = cutter;
      const cutBy = (): TransferEnd | null => signal.aborted ? signal.reason : null;
      const started = timers.elapsed();
      const fields = { ...about(id, record), address };
      log.write("audit", "transfer_started", fields);
      let seen: number | null = null;
      const stopTimer = timers.after(limits.maxTransferMs, () => cutter.abort("too_long" satisfies TransferEnd));
      return {
        /** Why it has to end, or `null`: asked before each piece. */
        async check(): Promise<TransferEnd | null> {
          const count = await access.changeCount();
          if (count === seen) return cutBy();
          const refusal = await refusalOf(access, record);
          if (refusal === null) seen = count;
          return cutBy() ?? refusal;
        },
        /** Calls it once when the transfer has to end at once. */
        onCut(react: (end: TransferEnd) => void): void {
          signal.addEventListener("abort", () => react(signal.reason));
        },
        /** With the id of the change that it made, where it can be undone. */
        end(outcome: TransferEnd, bytes: number, change: string | null = null): void {
          if (!all.delete(own)) return;
          stopTimer();
          over.resolve();
          const durationMs = timers.elapsed() - started;
          const made = change === null ? {} : { change };
          log.write("audit", "transfer_ended", { ...fields, outcome, reason: `${bytes} bytes`, durationMs, ...made });
        },
      };
    },
    /** Begins none any more; resolves when the uploads that run have ended, or after so many milliseconds. */
    async finish(milliseconds: number): Promise<void> {
      isStopping = true;
      const uploads = [...all].filter(({ isUpload }) => isUpload).map(({ ended }) => ended);
      await atMost(milliseconds, Promise.all(uploads), undefined, createPause(timers));
      cut(({ isUpload }) => isUpload); // else its end would be the caller's
    },
    close: () => cut(() => true),
  };
}

/** What an audit line says of a transfer; never the secret of its link. */
export function about(id: string, { direction, path, principal }: TransferRecord): LogFields {
  const { subject, clientId, grantId } = principal;
  return { transfer: id.slice(0, shownCharacters), direction, what: path, subject, clientId, grant: grantId };
}

/** Of an id, which is a hash: enough to tell transfers apart. */
const shownCharacters = 8;

export interface TransferParts {
  readonly links: ReturnType<typeof createTransferStore>;
  readonly limits: TransferLimits;
  readonly timers: Timers;
  readonly refusalWords: (refusal: WorkspaceRefusal) => string;
}

/** The file that a link is about, in the workspace of its person. */
export interface LinkTarget<Link extends TransferRecord> {
  readonly id: string;
  readonly record: Link;
  readonly path: WorkspacePath;
  readonly workspace: Workspace;
}
