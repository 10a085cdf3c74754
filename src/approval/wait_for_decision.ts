/** Waits for a person's decision, as long as the client does. */
import { heldCallKey, heldMs, readHeldCall, type StoredHeldCall } from "./held_call.ts";
import type { Log } from "../lib/log/log.ts";
import { leastReadingMs } from "../lib/time/reading_time.ts";
import type { Timers } from "../lib/time/timers.ts";
import { watchEntries } from "../lib/watch_entries.ts";
import type { ToolContext } from "../mcp/tool.ts";
import type { Storage } from "../storage/port.ts";

/** How long a client is kept waiting: less than the 60 seconds after which most give up. */
const patienceMs = 45_000;
const progressEveryMs = 5_000;

export interface WaitOptions {
  readonly storage: Storage;
  readonly timers: Timers;
  readonly log: Log;
  /** Where people decide. */
  readonly pageUrl: string;
  /** For tests; otherwise the constants of these names. */
  readonly patienceMs?: number;
  readonly leastReadingMs?: number;
}

/** The decided call; `null` where the client is told to come again, or has gone. */
export async function waitForDecision(
  { call }: StoredHeldCall,
  context: ToolContext,
  options: WaitOptions,
): Promise<StoredHeldCall | null> {
  const { storage, timers, log, pageUrl } = options;
  const { promise, resolve, reject } = Promise.withResolvers<StoredHeldCall | null>();
  const watch = watchEntries(storage, [heldCallKey(call.id)], async () => {
    const now = await readHeldCall(storage, call.id);
    if (now === null || now.call.state !== "waiting") resolve(now);
  }, { log, timers });
  const giveUp = (): void => resolve(null);
  await context.handOut();
  const waitMs = context.supports("tasks") ? heldMs : options.patienceMs ?? patienceMs;
  const stopWaiting = timers.after(waitMs, giveUp);
  const startedAt = timers.elapsed();
  const url = `${pageUrl}?call=${call.id}`;
  const message = `Waiting for approval at ${url}`;
  const tell = (): void => context.progress({ progress: (timers.elapsed() - startedAt) / 1_000, message });
  const stopTelling = timers.every(progressEveryMs, tell);
  const signals = [context.signal, context.answerNow];
  for (const signal of signals) {
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
  }
  tell();
  watch.look();
  if (context.supports("url_elicitation")) {
    const words = `Decide whether ${call.clientName} may use ${call.tool}.`;
    const page = { method: "elicitation/create", params: { mode: "url", message: words, url } } as const;
    // Opening the page is all that the client can say yes to: the decision is made there.
    context.ask({ approval: page }).then((answers) => {
      const isRead = timers.elapsed() - startedAt >= (options.leastReadingMs ?? leastReadingMs);
      if (isRead && answers.ok && answers.value.approval.action !== "accept") giveUp();
    }, reject);
  }
  try {
    return await promise;
  } finally {
    watch.stop();
    stopWaiting();
    stopTelling();
    for (const signal of signals) signal.removeEventListener("abort", giveUp);
  }
}
