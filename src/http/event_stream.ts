/** A stream of messages as Server-Sent Events (WHATWG HTML §9.2). */
import type { Frame, FrameReader } from "../mcp/message_stream.ts";

export const eventStreamOptions = {
  /** A comment is sent after so long a silence, so that no proxy takes the connection for dead. */
  keepAliveMs: 15_000,
  /** What a client waits before it comes back to a stream that lost its connection. */
  retryMs: 1_000,
};

export type EventStreamOptions = Readonly<typeof eventStreamOptions>;

const eventStreamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no", // nginx would hold events back
};
const encoder = new TextEncoder();
const comment = encoder.encode(": keep-alive\n\n");

/** The same reader, whose end is reported once: whether its last message was read, or its caller left before. */
export function watchEnd(reader: FrameReader, onEnd: (isWhole: boolean) => void): FrameReader {
  let isOver = false;
  const end = (isWhole: boolean): void => {
    if (!isOver) onEnd(isWhole);
    isOver = true;
  };
  return {
    rest() {
      const rest = reader.rest();
      if (rest !== null) end(true);
      return rest;
    },
    async next(idleMs) {
      const frame = await reader.next(idleMs);
      if (frame === null) end(true);
      return frame;
    },
    cancel() {
      end(false);
      reader.cancel();
    },
  };
}

/** One message as a whole stream, for callers that read nothing else. */
export function toSingleEventResponse(text: string): Response {
  return new Response(toEvent({ id: null, text }, 0), { headers: eventStreamHeaders });
}

/** The response that carries a stream. One that has ended already goes out as a single text, which costs far less. */
export function toEventStreamResponse(reader: FrameReader, options: EventStreamOptions): Response {
  const rest = reader.rest();
  if (rest !== null) {
    return new Response(rest.map((frame) => toEvent(frame, options.retryMs)).join(""), { headers: eventStreamHeaders });
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const frame = await reader.next(options.keepAliveMs);
      if (frame === null) controller.close();
      else controller.enqueue(frame === "idle" ? comment : encoder.encode(toEvent(frame, options.retryMs)));
    },
    cancel: () => reader.cancel(),
  }, { highWaterMark: 0 });
  return new Response(body, { headers: eventStreamHeaders });
}

/** JSON text has no line breaks, so that one data line carries any message. */
function toEvent({ id, text }: Frame, retryMs: number): string {
  if (text === "") return `id: ${id}\nretry: ${retryMs}\ndata:\n\n`; // SEP-1699: priming event
  return id === null ? `event: message\ndata: ${text}\n\n` : `id: ${id}\nevent: message\ndata: ${text}\n\n`;
}
