/** What is kept of calls: the log with its stored audit, those that run now, and how clients connect. */
import {
  type AttemptRecorder,
  createAttemptRecorder,
  type Live,
  openLive,
  openStepLog,
  type StepLog,
} from "../console/mod.ts";
import type { Config } from "./config/config.ts";
import { type Log, summariseStrangers } from "../lib/log.ts";
import { isLoopbackHost } from "../lib/settings.ts";
import type { Clock, Timers } from "../lib/time.ts";
import type { TakeAudit } from "../mcp/mod.ts";
import type { Storage } from "../storage/mod.ts";
import type { Bounds } from "./bounds.ts";
import type { Installation } from "./installation.ts";
import { mayHaveSeveralInstances } from "./rate_limits.ts";
import { serverUrlSpellings } from "./server_url.ts";
import { startStoredAudit } from "./stored_audit.ts";
import { clients, operatorClientId } from "../oauth/mod.ts";

interface CallRecords {
  /** For every part: its audit lines are stored too, and repeated refusals of strangers are counted. */
  readonly log: Log & { close(): void };
  readonly live: Live;
  readonly recordRequest: TakeAudit;
  readonly attempts: AttemptRecorder;
  readonly steps: StepLog;
  close(): Promise<void>;
}

export async function openCallRecords(
  config: Config,
  parts: Installation & {
    readonly log: Log;
    readonly clock: Clock;
    readonly timers: Timers;
    readonly steadyNow: () => number | null;
    readonly bounds: Bounds;
    /** Without one, no client connects. */
    readonly serverUrl?: string;
  },
): Promise<CallRecords> {
  const createId = (): string => crypto.randomUUID();
  const { timers } = parts;
  const audit = startStoredAudit(config.audit, {
    ...parts,
    createId,
    onRequest: (line) => live.noteEnd(line),
  });
  const summarised = summariseStrangers(audit.log, { ...parts.bounds.log, timers: parts.timers });
  const steps = openStepLog({ ...parts, log: summarised, createId });
  const { serverUrl } = parts;
  const hosts = new Set(serverUrl === undefined ? [] : serverUrlSpellings(serverUrl).map((url) => new URL(url).host));
  const attempts = createAttemptRecorder({
    note: serverUrl === undefined ? () => {} : steps.note,
    isOwnHost: (host) => hosts.has(host),
    isOpen: config.authorizationServer.registration === "open",
    isDiskFull: () => isDiskFull(parts.storage),
    scheme: serverUrl === undefined ? "" : new URL(serverUrl).protocol,
    ...(serverUrl === undefined ? {} : { issuer: serverUrl }),
    isDirect: serverUrl !== undefined && isLoopbackHost(new URL(serverUrl).hostname) &&
      config.http.trustedProxies === undefined,
    elapsed: () => timers.elapsed(),
    isClockSteady: () => parts.steadyNow() !== null,
  });
  const live = await openLive({ ...parts, log: summarised, createId, hasOthers: mayHaveSeveralInstances(config) });
  return {
    log: summarised,
    live,
    recordRequest(entry, params) {
      audit.recordRequest(entry, params);
      attempts.noteCall(entry);
    },
    attempts,
    steps,
    async close() {
      live.close();
      summarised.close();
      await steps.close();
      await audit.close();
    },
  };
}

/** What is written is also what the storage writes to find out whether it is back. */
async function isDiskFull(storage: Storage): Promise<boolean> {
  try {
    await storage.commit({ puts: [{ key: ["health", "write"], value: true }] });
    return false;
  } catch (error) {
    return error instanceof Error && /\bfull\b/.test(error.message);
  }
}

// What a client is called, from what is stored of it; no document is fetched for it.

const operatorName = "a token of the command line";

/** What the tokens of the command line are called; `undefined` for other clients. */
export function nameOfOperator(clientId: string): string | undefined {
  return clientId === operatorClientId ? operatorName : undefined;
}

export async function readClientName(storage: Storage, clientId: string): Promise<string | null> {
  const operator = nameOfOperator(clientId);
  if (operator !== undefined) return operator;
  const stored = await clients.read(storage, clientId).catch(() => null);
  return stored?.value.name ?? URL.parse(clientId)?.host ?? null;
}
