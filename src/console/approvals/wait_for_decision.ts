/** Waits for a person's decision, as long as the client does. */
import { cutMiddle, type NotHeld } from "./ask.ts";
import { heldCallKey, heldMs, readHeldCall, type StoredHeldCall } from "./decisions.ts";
import type { Log } from "../../lib/log.ts";
import { leastReadingMs, type Timers } from "../../lib/time.ts";
import { watchEntries } from "../../lib/stored_entries.ts";
import type { ToolContext } from "../../mcp/mod.ts";
import type { Storage } from "../../storage/mod.ts";
import { showExactly } from "../../files/mod.ts";

/** How long a client is kept waiting: less than the 60 seconds after which most give up. */
const patienceMs = 45_000;
const progressEveryMs = 5_000;
const maxNameCharacters = 200;

export interface WaitOptions {
  readonly storage: Storage;
  readonly timers: Timers;
  readonly log: Log;
  /** Where people decide. */
  readonly pageUrl: string;
  /** What a client calls itself. */
  nameOfClient(clientId: string): string;
  /** For tests; otherwise the constants of these names. */
  readonly patienceMs?: number;
  readonly leastReadingMs?: number;
}

interface WaitingCall {
  readonly id: string;
  readonly tool: string;
  /** The call once it is stored; or why it is not. The caller waits from the beginning, however long that takes. */
  readonly asking: Promise<StoredHeldCall | NotHeld>;
}

/** The decided call; `null` where the client is told to come again, or has gone. */
export async function waitForDecision(
  { id, tool, asking }: WaitingCall,
  context: ToolContext,
  options: WaitOptions,
): Promise<StoredHeldCall | NotHeld | null> {
  const { storage, timers, log, pageUrl } = options;
  const { promise, resolve, reject } = Promise.withResolvers<StoredHeldCall | NotHeld | null>();
  let isAsked = false;
  const watch = watchEntries(storage, [heldCallKey(id)], async () => {
    if (!isAsked) return; // what is stored is an earlier call's
    const now = await readHeldCall(storage, id);
    if (now === null || now.call.state !== "waiting") resolve(now);
  }, { log, timers });
  const giveUp = (): void => resolve(null);
  await context.handOut();
  const waitMs = context.supports("tasks") ? heldMs : options.patienceMs ?? patienceMs;
  const stopWaiting = timers.after(waitMs, giveUp);
  const startedAt = timers.elapsed();
  const url = `${pageUrl}?call=${id}`;
  const message = `Waiting for approval at ${url}`;
  const tell = (): void => context.progress({ progress: (timers.elapsed() - startedAt) / 1_000, message });
  const stopTelling = timers.every(progressEveryMs, tell);
  const signals = [context.signal, context.answerNow];
  for (const signal of signals) {
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
  }
  tell();
  asking.then((asked) => {
    if (typeof asked === "string" || asked.call.state !== "waiting") return resolve(asked);
    isAsked = true;
    watch.look();
  }, reject);
  if (context.supports("url_elicitation")) {
    const client = cutMiddle(showExactly(options.nameOfClient(context.principal.clientId)), maxNameCharacters);
    const words = `Decide whether ${client} may use ${tool}.`;
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
