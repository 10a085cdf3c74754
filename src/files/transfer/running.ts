/** Transfers that run: how many at once, one for each link, and each only for as long as its person has access. */
import type { Peer } from "../../lib/endpoint.ts";
import type { Log, LogFields } from "../../lib/log.ts";
import type { Principal } from "../../lib/principal.ts";
import { randomId } from "../../lib/secrets.ts";
import type { Clock, Timers } from "../../lib/time.ts";
import { principalOf, type TransferLimits, type TransferRecord, type TransferStore } from "./link_store.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace, WorkspaceRefusal } from "../workspace/port.ts";

/** How a request ended. */
export type TransferEnd =
  | "whole"
  | "part"
  | "hung_up"
  | "stalled"
  | "too_long"
  | "too_fragmented"
  | "taken_over"
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
  judge(transfer: JudgedTransfer): Promise<"allow" | "deny" | { readonly ask: string }>;
  /** Differs whenever one of these may. */
  changeCount(): number | Promise<number>;
}

interface JudgedTransfer {
  readonly principal: Principal;
  readonly direction: "download" | "upload";
  readonly path: string;
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

export interface Running {
  readonly holder: string;
  /** Why it has to end, or `null`: asked before each piece. */
  check(): Promise<TransferEnd | null>;
  /** Called once when it has to end at once. */
  onCut(cut: (end: TransferEnd) => void): void;
  /** With the id of the change that it made, where it can be undone. */
  end(end: TransferEnd, bytes: number, change?: string | null): void;
}

interface RunningTransfer {
  cut(end: TransferEnd): void;
  readonly ended: Promise<void>;
}

export interface RunningTransfers {
  /** Begins one; the one that runs by the same link ends. */
  begin(id: string, record: TransferRecord, { address }: Peer): Promise<Running | "busy" | "used_up">;
  /** Begins none any more; resolves when the uploads that run have ended, or after so many milliseconds. */
  finish(milliseconds: number): Promise<void>;
  close(): void;
}

export function createRunningTransfers(
  { links, access, limits, timers, log }: {
    readonly links: TransferStore;
    readonly access: Access;
    readonly limits: TransferLimits;
    readonly timers: Timers;
    readonly log: Log;
  },
): RunningTransfers {
  const running = new Map<string, RunningTransfer>();
  const persons = new Map<string, number>();
  const uploads = new Set<Promise<void>>();
  let isStopping = false;
  let total = 0;

  const count = (person: string, change: 1 | -1): void => {
    total += change;
    const own = (persons.get(person) ?? 0) + change;
    if (own === 0) persons.delete(person);
    else persons.set(person, own);
  };
  const isFull = (person: string): boolean =>
    total >= limits.maxAtOnce || (persons.get(person) ?? 0) >= limits.maxAtOncePerPerson;

  return {
    async begin(id, record, { address }) {
      const person = record.principal.subject;
      running.get(id)?.cut("taken_over");
      if (isStopping || isFull(person)) return "busy";
      count(person, 1);
      const holder = randomId();
      let claimed = false;
      try {
        claimed = await links.update(
          id,
          (now) => now.direction === "upload" && now.isUsed ? "leave" : { ...now, holder },
        );
      } finally {
        if (!claimed) count(person, -1);
      }
      if (!claimed) return "used_up";
      // what was sent before is known only when the first has ended
      const patience = Promise.withResolvers<void>();
      let isPatient = true;
      const stopWaiting = timers.after(limits.stallMs, () => {
        isPatient = false;
        patience.resolve();
      });
      for (let first; isPatient && (first = running.get(id)) !== undefined;) {
        first.cut("taken_over");
        await Promise.race([first.ended, patience.promise]);
      }
      stopWaiting();

      const started = timers.elapsed();
      const over = Promise.withResolvers<void>();
      if (record.direction === "upload") uploads.add(over.promise);
      const fields = { ...about(id, record), address };
      log.write("audit", "transfer_started", fields);
      let seen: number | null = null;
      let cutBy: TransferEnd | null = null;
      let onCut = (_end: TransferEnd): void => {};
      let isOver = false;
      const cut = (end: TransferEnd): void => {
        if (isOver || cutBy !== null) return;
        cutBy = end;
        onCut(end);
      };
      const stopTimer = timers.after(limits.maxTransferMs, () => cut("too_long"));
      const own = { cut, ended: over.promise };
      running.set(id, own);
      return {
        holder,
        async check() {
          if (cutBy !== null) return cutBy;
          const count = await access.changeCount();
          if (count === seen) return null;
          const now = await links.read(id);
          if (now === null) return "used_up";
          if (now.holder !== holder) return "taken_over";
          const refusal = await refusalOf(access, now);
          if (refusal !== null) return refusal;
          seen = count;
          return cutBy;
        },
        onCut(react) {
          onCut = react;
          if (cutBy !== null) react(cutBy);
        },
        end(end, bytes, change = null) {
          if (isOver) return;
          isOver = true;
          stopTimer();
          count(person, -1);
          if (running.get(id) === own) running.delete(id);
          over.resolve();
          uploads.delete(over.promise);
          const durationMs = timers.elapsed() - started;
          const made = change === null ? {} : { change };
          log.write("audit", "transfer_ended", {
            ...fields,
            outcome: end,
            reason: `${bytes} bytes`,
            durationMs,
            ...made,
          });
        },
      };
    },
    async finish(milliseconds) {
      isStopping = true;
      if (uploads.size === 0) return;
      const finished = Promise.withResolvers<void>();
      const stopTimer = timers.after(milliseconds, finished.resolve);
      void Promise.all(uploads).then(() => finished.resolve());
      await finished.promise;
      stopTimer();
    },
    close() {
      for (const { cut } of [...running.values()]) cut("stopped");
    },
  };
}

/** What an audit line says of a transfer; never the secret of its link. */
export function about(id: string, { direction, path, principal }: TransferRecord): LogFields {
  const { subject, clientId, grantId } = principal;
  return { transfer: id.slice(0, shownCharacters), direction, what: path, subject, clientId, grant: grantId };
}

/** Of an id, which is a hash: enough to tell transfers apart. */
const shownCharacters = 8;

// What sending and receiving a file by a link share.

export interface TransferParts {
  readonly links: TransferStore;
  readonly limits: TransferLimits;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly refusalWords: (refusal: WorkspaceRefusal) => string;
}

/** The file that a link is about, in the workspace of its person. */
export interface LinkTarget {
  readonly id: string;
  readonly path: WorkspacePath;
  readonly workspace: Workspace;
}
