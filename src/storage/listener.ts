/** Hears what PostgreSQL's NOTIFY says on a channel, over a connection of its own that is made anew when it was lost. */
import type { Sql } from "postgres";
import { pause } from "../lib/pause.ts";

/** What the listener's connection calls. */
export interface ListenerHandlers {
  readonly onnotify: (channel: string, payload: string) => void;
  readonly onclose: () => void;
}

interface PostgresListenerOptions {
  /** A pool of one connection. */
  readonly connect: (handlers: ListenerHandlers) => Sql;
  /** An identifier that needs no escaping. */
  readonly channel: string;
  readonly onPayload: (payload: string) => void;
  /** From here on nothing is missed; what was said before, in a loss of the connection too, was not heard. */
  readonly onStanding: () => void;
  /** How long the server may take to answer before the connection counts as lost. */
  readonly answerTimeoutMs: number;
}

const beatMs = 5_000; // a network that swallows everything is noticed within this and the time-out
const retryMs = 200;

/** Listens until the returned function is called; it resolves when the connection is closed. */
export function listenToPostgres(options: PostgresListenerOptions): () => Promise<void> {
  const { connect, channel, onPayload, onStanding, answerTimeoutMs } = options;
  const stopped = new AbortController();

  const listenOnce = async (): Promise<void> => {
    const lost = new AbortController();
    const over = AbortSignal.any([stopped.signal, lost.signal]);
    const sql = connect({ onnotify: (_channel, payload) => onPayload(payload), onclose: () => lost.abort() });
    const send = async (text: string): Promise<void> => {
      const answered = new AbortController();
      const answer = sql.unsafe(text).then(() => answered.abort(), () => lost.abort());
      await Promise.race([answer, pause(answerTimeoutMs, AbortSignal.any([over, answered.signal]))]);
      if (!answered.signal.aborted) lost.abort();
    };
    await send(`LISTEN "${channel}"`);
    if (!over.aborted) onStanding();
    while (!over.aborted) {
      await pause(beatMs, over);
      if (!over.aborted) await send("SELECT 1");
    }
    await sql.end({ timeout: 0 });
  };
  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await listenOnce();
      await pause(retryMs, stopped.signal);
    }
  };
  const running = run();
  return async () => {
    stopped.abort();
    await running;
  };
}
