/**
 * A queue of messages on their way to one client, bounded, with one reader at a time. A resumable stream keeps what was
 * read, so that a client that lost its connection gets the rest from a new one (MCP 2025-11-25, basic/transports).
 */
import type { Timers } from "../lib/time.ts";

/** One message, or (`text` is empty) an event that only tells its id. */
export interface Frame {
  readonly id: string | null;
  readonly text: string;
}

/** Reads a stream for one connection; a later reader takes its place. */
export interface FrameReader {
  /** The next message; `"idle"` when none came for that long; `null` at the end. */
  next(idleMs: number): Frame | "idle" | null | Promise<Frame | "idle" | null>;
  /** All that is left, when the stream has ended already; `null` while more may come. */
  rest(): readonly Frame[] | null;
  /** The connection is gone. */
  cancel(): void;
}

/** How a stream behaves. */
interface MessageStreamOptions {
  /** How many messages may wait, or be kept to be sent again. */
  readonly maxFrames: number;
  /** The id by which the stream can be resumed; `null` for one that cannot. */
  readonly resumeId: string | null;
  /** How long a stream without a reader goes on. At 0, it ends with its connection. */
  readonly detachedMs: number;
  /** Called once, when nothing more can be sent: the stream is complete, or (`abandoned`) its client is gone. */
  readonly onClosed: (abandoned: boolean) => void;
  readonly timers: Timers;
}

export type MessageStream = ReturnType<typeof openMessageStream>;

export function openMessageStream(options: MessageStreamOptions) {
  const { maxFrames, resumeId, detachedMs, onClosed, timers } = options;
  const frames: Frame[] = [];
  let firstNumber = 0; // of frames[0]
  let nextNumber = 0;
  let position = 0; // the number that the reader takes next
  let complete = false;
  let abandoned = false;
  let reader: object | null = null;
  let releasedAt = Infinity; // the number of the first frame that the present reader does not get any more
  let wake: (() => void) | null = null;
  let stopWaiting: (() => void) | undefined;

  const notify = (): void => {
    const waiting = wake;
    wake = null;
    waiting?.();
  };
  const forgetRead = (): void => {
    const keep = resumeId === null ? nextNumber - position : maxFrames;
    while (frames.length > keep && firstNumber < position) {
      frames.shift();
      firstNumber += 1;
    }
  };
  const take = (): Frame | undefined => {
    position = Math.max(position, firstNumber);
    if (position >= releasedAt) return undefined;
    const frame = frames[position - firstNumber];
    if (frame === undefined) return undefined;
    position += 1;
    forgetRead();
    return frame;
  };
  const abandon = (): void => {
    stopWaiting?.();
    if (complete || abandoned) return;
    abandoned = true;
    notify();
    onClosed(true);
  };
  const detach = (): void => {
    reader = null;
    notify();
    if (detachedMs === 0) abandon();
    else if (!complete && !abandoned) stopWaiting = timers.after(detachedMs, abandon);
  };

  return {
    resumeId,
    /** How many characters it keeps, to be sent or to be sent again. */
    get kept() {
      return frames.reduce((sum, { text }) => sum + text.length, 0);
    },
    /** Queues a message. One that may be lost is dropped when the queue is full; `false` then, and when closed. */
    push(text: string, mayBeLost: boolean) {
      if (complete || abandoned || (mayBeLost && nextNumber - position >= maxFrames)) return false;
      frames.push({ id: resumeId === null ? null : `${resumeId}.${nextNumber}`, text });
      nextNumber += 1;
      notify();
      return true;
    },
    /** Completes the stream: its client gets what is queued, and then the end. */
    end() {
      if (complete || abandoned) return;
      stopWaiting?.();
      complete = true;
      notify();
      onClosed(false);
    },
    /** Gives the stream up, with what is queued. */
    abandon,
    /** Ends the connection, not the stream: the client comes back for the rest. */
    release() {
      if (resumeId === null || reader === null) return;
      releasedAt = nextNumber;
      notify();
    },
    /** Whether the stream has ended and has nothing after the frame with this number. */
    isOverAfter: (after: number) => (complete || abandoned) && after + 1 >= nextNumber,
    /** A reader that begins after the frame with this number, in place of any reader before it. */
    attach(after: number): FrameReader {
      const self = reader = {};
      releasedAt = Infinity;
      stopWaiting?.();
      position = Math.min(Math.max(after + 1, firstNumber), nextNumber);
      notify();
      const isCurrent = (): boolean => reader === self;
      return {
        next(idleMs) {
          if (!isCurrent()) return null;
          const ready = take();
          if (ready !== undefined) return ready;
          if (position >= releasedAt) detach();
          if (complete || abandoned || !isCurrent()) return null;
          return new Promise((resolve) => {
            const stopTimer = timers.after(idleMs, () => {
              wake = null;
              resolve("idle");
            });
            wake = () => {
              stopTimer();
              resolve(isCurrent() ? take() ?? this.next(idleMs) : null);
            };
          });
        },
        rest() {
          if (!complete || !isCurrent()) return null;
          const left: Frame[] = [];
          for (let frame = take(); frame !== undefined; frame = take()) left.push(frame);
          return left;
        },
        cancel() {
          if (isCurrent()) detach();
        },
      };
    },
  };
}

// What the protocol layer answers to one posted body. The HTTP endpoint, or stdio, turns it into bytes.

/** One answer. Refusals that the transport sends as a status are separate kinds. */
export type McpAnswer =
  | JsonAnswer
  /** Nothing to say: a notification or a posted response was taken. */
  | { readonly kind: "accepted"; readonly status: number }
  /** `scopes` are what the client should request. */
  | { readonly kind: "insufficient_scope"; readonly scopes: readonly string[]; readonly body: string }
  | { readonly kind: "rate_limited"; readonly retryAfterSeconds: number; readonly body: string }
  /** The database is lost for the moment. */
  | { readonly kind: "unavailable"; readonly retryAfterSeconds: number; readonly body: string }
  /** Messages as they come; the last one is the response, unless the stream belongs to no request. */
  | { readonly kind: "stream"; readonly reader: FrameReader }
  /** A response that is not there yet, as the only message of its reader. */
  | { readonly kind: "late_json"; readonly reader: FrameReader }
  /** A method of HTTP that is not served here. */
  | { readonly kind: "method_not_allowed"; readonly allow: string; readonly message?: string };

export interface JsonAnswer {
  readonly kind: "json";
  readonly status: number;
  readonly body: string;
  readonly sessionId?: string;
  /** What was posted is no message of JSON-RPC 2.0. */
  readonly isMalformed?: true;
}
