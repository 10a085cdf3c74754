/** Records of calls: the log with its stored audit, the running calls, and how clients connect. */
import type { AuditSettings } from "../audit/mod_settings.ts";
import { createAuditRecorder, limitStrangers, lineOfLog, lineOfRequest, trimAudit } from "../audit/mod.ts";
import type { AuditParts } from "../audit/mod.ts";
import { atMost, createPause, soonAndEvery, type Timers } from "../lib/time.ts";
import { type Log, summariseStrangers } from "../lib/log.ts";
import type { TakeAudit } from "../mcp/mod.ts";
import { createAttemptRecorder, openLive, openStepLog } from "../console/mod.ts";
import type { Config } from "./config/config.ts";
import type { Storage } from "../storage/mod.ts";
import { mayHaveSeveralInstances, type Parts } from "./installation.ts";
import { clients, operatorClientId } from "../oauth/mod.ts";
import { serverUrlSpellings } from "./server_url.ts";
import { isLoopbackHost } from "../lib/settings.ts";

/**
 * Opens the stored audit behind the log, the running calls, and the steps of clients that connect. `close` stores what
 * is still queued.
 */
export async function openCallRecords(
  config: Config,
  parts: Omit<Parts, "serverUrl"> & {
    readonly steadyNow: () => number;
    readonly isSteady: () => boolean;
    /** Without one, no client connects. */
    readonly serverUrl?: string;
  },
) {
  const createId = (): string => crypto.randomUUID();
  const audit = startStoredAudit(config.audit, { ...parts, createId });
  const summarised = summariseStrangers(audit.log, { ...parts.bounds.log, timers: parts.timers });
  const steps = openStepLog({ ...parts, log: summarised, createId });
  const { serverUrl } = parts;
  const hosts = new Set(serverUrl === undefined ? [] : serverUrlSpellings(serverUrl).map((url) => new URL(url).host));
  const attempts = createAttemptRecorder({
    note: serverUrl === undefined ? () => {} : steps.note,
    isOwnHost: (host) => hosts.has(host),
    isOpen: config.authorizationServer.registration === "open",
    isDiskFull: async () => /\bfull\b/.test(await writeProblem(parts.storage) ?? ""),
    ...(serverUrl === undefined ? {} : { issuer: serverUrl }),
    isDirect: serverUrl !== undefined && isAnsweredHere(config.http, serverUrl),
    isClockSteady: parts.isSteady,
    elapsed: () => parts.timers.elapsed(),
  });
  const live = await openLive({ ...parts, log: summarised, createId, hasOthers: mayHaveSeveralInstances(config) });
  const recordRequest: TakeAudit = (entry, params) => {
    audit.recordRequest(entry, params);
    attempts.noteCall(entry);
  };
  return {
    /** For every part: its audit lines are stored too, and repeated refusals of strangers are counted. */
    log: summarised,
    live,
    recordRequest,
    attempts,
    steps,
    async close() {
      live.close();
      summarised.close();
      await attempts.allNoted();
      await steps.close();
      await audit.close();
    },
  };
}

const trimIntervalMs = 300_000;
/** Of AUDIT_MAX_BYTES, what may be written before the oldest lines are looked at again. */
const trimShare = 0.05;

/**
 * The stored audit: takes the audit lines of the log that it gives, and those of requests by `recordRequest`, and
 * removes the oldest. `close` stores what waits.
 */
function startStoredAudit(
  settings: AuditSettings,
  parts: AuditParts & {
    readonly timers: Timers;
    readonly createId: () => string;
    /** The time by which what is too old may be removed. */
    readonly steadyNow: () => number;
  },
): { readonly log: Log; readonly recordRequest: TakeAudit; readonly close: () => Promise<void> } {
  const { log, clock, timers, steadyNow } = parts;
  let trimming: Promise<unknown> | null = null;
  let written = 0;
  const trim = (): void => {
    written = 0;
    trimming ??= trimAudit(parts, { ...settings, now: steadyNow() })
      .catch((error) => log.write("error", "audit_not_trimmed", { error: String(error) }))
      .finally(() => trimming = null);
  };
  const stopTrimming = soonAndEvery(timers, trimIntervalMs, trim);
  const stop = async (): Promise<void> => {
    stopTrimming();
    await trimming;
  };
  if (settings.maxBytes === 0) return { log, recordRequest() {}, close: stop };
  const recorder = createAuditRecorder({
    ...parts,
    holder: parts.createId(),
    onStored(bytes) {
      written += bytes;
      if (written > settings.maxBytes * trimShare) trim();
    },
  });
  const ofLog = limitStrangers(recorder.record, clock);
  return {
    log: {
      write(level, event, fields) {
        log.write(level, event, fields);
        if (level === "audit" && event !== "request") ofLog.record(lineOfLog(clock(), event, fields));
      },
      flush: () => log.flush(),
    },
    // Callers without a token are in the log alone: strangers do not fill the storage.
    recordRequest: (entry, params) => {
      if (entry.subject !== null) recorder.record(lineOfRequest(entry, params));
    },
    async close() {
      await stop();
      ofLog.close();
      await recorder.close();
    },
  };
}

/** Why nothing can be stored. What is written is also what the storage writes to find out whether it is back. */
async function writeProblem(storage: Storage): Promise<string | null> {
  try {
    await storage.commit({ puts: [{ key: ["health", "write"], value: true }] });
    return null;
  } catch (error) {
    return String(error);
  }
}

/** How long a stop waits for that, and how often it looks. */
const [settleMs, lookMs] = [1_500, 100];

/**
 * For a stop, before it closes what stores: waits for work that has to be stored and that no request waits for, and for
 * a storage that is away for a moment. What takes longer is lost.
 */
export async function settle(
  { storage, timers }: Pick<Parts, "storage" | "timers">,
  underWay: readonly (Promise<unknown> | undefined)[],
): Promise<void> {
  const pause = createPause(timers);
  const isBack = async (): Promise<void> => {
    for (let waited = 0; waited < settleMs && await writeProblem(storage) !== null; waited += lookMs) {
      await pause(lookMs);
    }
  };
  await atMost(settleMs, Promise.allSettled([isBack(), ...underWay]), null, pause);
}

const operatorName = "a token of the command line";

/** What the tokens of the command line are called; `undefined` for other clients. */
export function nameOfOperator(clientId: string): string | undefined {
  return clientId === operatorClientId ? operatorName : undefined;
}

/** The name to show for a client: stored, or the host of its metadata document; `null` when neither is known. */
export async function readClientName(storage: Storage, clientId: string): Promise<string | null> {
  const operator = nameOfOperator(clientId);
  if (operator !== undefined) return operator;
  const stored = await clients.read(storage, clientId).catch(() => null);
  return stored?.value.name ?? URL.parse(clientId)?.host ?? null;
}

/** Whether clients on this machine reach the server itself at `serverUrl`: no setting says that a proxy is in front. */
function isAnsweredHere(http: Config["http"], serverUrl: string): boolean {
  const { hostname, port, pathname } = new URL(serverUrl);
  const isOwnPort = http.serverUrl === undefined || port === String(http.port);
  return isOwnPort && pathname === "/" && isLoopbackHost(hostname) && http.trustedProxies === undefined;
}
