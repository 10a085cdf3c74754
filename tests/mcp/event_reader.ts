/** Reads the events of a stream, one after the other, and checks each message. */
import assert from "node:assert/strict";
import { checkMessage, type WireContext } from "./wire_check.ts";

/** One event. */
export interface ServerEvent {
  readonly id: string | undefined;
  readonly retry: string | undefined;
  /** The message; `null` for an event that only has an id. */
  readonly message: Record<string, unknown> | null;
}

/** Reads a response as a stream. */
export interface EventReader {
  /** The next event, or `null` at the end. Comments are counted, not given. */
  next(): Promise<ServerEvent | null>;
  /** All events that are left. */
  rest(): Promise<ServerEvent[]>;
  readonly comments: number;
  cancel(): Promise<void>;
}

/** Reads the events of `response`. */
export function readEvents(response: Response, context: WireContext): EventReader {
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  assert.equal(response.headers.get("x-accel-buffering"), "no");
  const reader = (response.body ?? assert.fail("no body")).pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  let comments = 0;
  const next = async (): Promise<ServerEvent | null> => {
    while (true) {
      const end = buffer.indexOf("\n\n");
      if (end < 0) {
        const { value, done } = await reader.read();
        if (done) return null;
        buffer += value;
        continue;
      }
      const block = buffer.slice(0, end);
      buffer = buffer.slice(end + 2);
      if (block.startsWith(":")) {
        comments += 1;
        continue;
      }
      const fields = new Map(
        block.split("\n").map((line) => {
          const colon = line.indexOf(":");
          return [line.slice(0, colon), line.slice(colon + 1).trim()];
        }),
      );
      const data = fields.get("data") ?? "";
      const message = data === "" ? null : JSON.parse(data);
      if (message !== null) checkMessage(message, context);
      return { id: fields.get("id"), retry: fields.get("retry"), message };
    }
  };
  return {
    next,
    async rest() {
      const events: ServerEvent[] = [];
      for (let event = await next(); event !== null; event = await next()) events.push(event);
      return events;
    },
    get comments() {
      return comments;
    },
    cancel: () => reader.cancel(),
  };
}
