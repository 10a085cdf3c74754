/** A JSON body that begins before its text is there. Only a body that is being sent lets the server notice a disconnect. */
import type { FrameReader } from "../mcp/message_stream.ts";

const headers = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-accel-buffering": "no", // nginx would hold the beginning back
};
const encoder = new TextEncoder();
const blank = encoder.encode(" "); // RFC 8259 §2: whitespace may stand before the value

/** The response whose body is a reader's only message. One that is there already goes out as a single text. */
export function toLateJsonResponse(reader: FrameReader, keepAliveMs: number): Response {
  const [whole] = reader.rest() ?? [];
  if (whole !== undefined) return new Response(whole.text, { headers });
  let isBegun = false;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const frame = isBegun ? await reader.next(keepAliveMs) : "idle";
      isBegun = true;
      if (frame === null) controller.close();
      else controller.enqueue(frame === "idle" ? blank : encoder.encode(frame.text));
    },
    cancel: () => reader.cancel(),
  }, { highWaterMark: 0 });
  return new Response(body, { headers });
}
