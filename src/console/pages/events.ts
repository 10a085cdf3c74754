/** `/console/events`: what changed on a page that is open, rendered by the server, as an event stream. */
import { boundedMap } from "../../lib/bounded_map.ts";
import { pause } from "../../lib/time.ts";
import { nextTurn } from "../../lib/turns.ts";
import type { LiveParts } from "./section.ts";

const lookMs = 1_000;
const beatMs = 15_000;
const maxStreams = 100;
const maxStreamsOfPerson = 8;
/** Then the page opens another, whose answer renews the session; on plain http a session lasts ten minutes. */
const maxStreamMs = 240_000;
/** What one reader may leave unread before the stream skips a turn. */
const maxWaitingChunks = 2;

/** A rendering is used again for so many times as long as it took, by every stream of the same page. */
const reuseFactor = 20;

/**
 * Gives the parts of a page, rendered once for all who watch it. A rendering that began before `since` (on the clock of
 * `performance.now()`) is not used: it may show what the page was before an act on it.
 */
type SharedRendering = (page: string, since: number, render: () => Promise<LiveParts>) => Promise<LiveParts>;

/** Keeps the last rendering of each page that is watched, so that no page takes more than a twentieth of the thread. */
export function createSharedRendering(): SharedRendering {
  const kept = boundedMap<string, { readonly parts: Promise<LiveParts>; readonly started: number; until: number }>(
    maxStreams,
  );
  return async (page, since, render) => {
    await nextTurn();
    const known = kept.get(page);
    const started = performance.now();
    if (known !== undefined && started < known.until && known.started >= since) return await known.parts;
    const rendering = { parts: render(), started, until: Infinity };
    kept.set(page, rendering);
    try {
      return await rendering.parts;
    } finally {
      const took = performance.now() - started;
      rendering.until = started + Math.min(beatMs, Math.max(lookMs / 2, reuseFactor * took));
    }
  };
}

/** Event streams of open pages. */
interface PageStreams {
  /**
   * Sends the parts that differ from what was sent before, until `look` gives `null` (the person signed out) or the
   * page is closed. `null` when there are too many streams.
   */
  open(person: string, look: () => Promise<LiveParts | null>): Response | null;
  close(): void;
}

export function createPageStreams(): PageStreams {
  const open = new Map<string, number>();
  const ending = new AbortController();
  let count = 0;
  return {
    open(person, look) {
      const own = open.get(person) ?? 0;
      if (count >= maxStreams || own >= maxStreamsOfPerson) return null;
      open.set(person, own + 1);
      count += 1;
      const closed = new AbortController();
      const signal = AbortSignal.any([closed.signal, ending.signal]);
      const end = (): void => {
        if (closed.signal.aborted) return;
        closed.abort();
        count -= 1;
        const left = (open.get(person) ?? 1) - 1;
        if (left === 0) open.delete(person);
        else open.set(person, left);
      };
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          // Not waited for: the stream lasts as long as the page.
          void send(controller, look, signal).finally(() => {
            end();
            try {
              controller.close();
            } catch {
              // The reader has left already.
            }
          });
        },
        cancel: end,
      }, { highWaterMark: maxWaitingChunks });
      return new Response(stream, {
        headers: {
          "content-type": "text/event-stream",
          "cache-control": "no-store",
          "x-accel-buffering": "no", // nginx would hold the events back
          "x-content-type-options": "nosniff",
        },
      });
    },
    close: () => ending.abort(),
  };
}

async function send(
  controller: ReadableStreamDefaultController<Uint8Array>,
  look: () => Promise<LiveParts | null>,
  signal: AbortSignal,
): Promise<void> {
  const encoder = new TextEncoder();
  const sent = new Map<string, string>();
  let silentMs = 0;
  const end = performance.now() + maxStreamMs;
  controller.enqueue(encoder.encode("retry: 2000\n\n"));
  while (!signal.aborted && performance.now() < end) {
    const parts = await look();
    if (parts === null || signal.aborted) return;
    const changed = Object.entries(parts).map(([id, { markup }]) => [id, markup] as const)
      .filter(([id, markup]) => sent.get(id) !== markup);
    if (changed.length > 0 && (controller.desiredSize ?? 0) > 0) {
      for (const [id, markup] of changed) sent.set(id, markup);
      controller.enqueue(encoder.encode(`data: ${JSON.stringify(Object.fromEntries(changed))}\n\n`));
      silentMs = 0;
    } else if (silentMs >= beatMs && (controller.desiredSize ?? 0) > 0) {
      controller.enqueue(encoder.encode(":\n\n"));
      silentMs = 0;
    }
    await pause(lookMs, signal);
    silentMs += lookMs;
  }
}
