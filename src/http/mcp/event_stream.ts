/** A stream of messages as Server-Sent Events (WHATWG HTML §9.2). */
import type { Frame, FrameReader } from "../../mcp/streams/message_stream.ts";

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
