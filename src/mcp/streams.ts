/**
 * Messages on their way to clients: queues, bounded, with one reader at a time; their number is limited, and they all
 * end. A resumable stream keeps what was read, so that a client that lost its connection gets the rest from a new one
 * (MCP 2025-11-25, basic/transports).
 */
import * as z from "zod";
import { createIssuedIds, issuedIdLength, randomText } from "../lib/secrets.ts";
import { parseJson } from "../lib/json.ts";
import type { RpcId } from "./jsonrpc.ts";
import type { Services } from "./limits.ts";
import type { Session } from "./revision.ts";
import type { Timers } from "../lib/time.ts";
import { callerKey, hasDirectories, type Principal } from "../lib/principal.ts";

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

function openMessageStream(options: MessageStreamOptions) {
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

/** The instance and the request are part of each event id of an answer; where they are longer, they are left out. */
const maxToldCharacters = 80;
const toldShape = z.lazy(() => z.tuple([z.string(), z.union([z.string(), z.number()])]));

interface StreamRequest {
  readonly principal: Principal;
  /** The session in which the stream can be resumed; `null` for a stream that cannot. */
  readonly session: Session | null;
  /** The request that the stream answers; absent for notices, which any instance can send. */
  readonly requestId?: RpcId;
  /** Whether the stream ends with its connection, or waits for its client to come back. Default: by its session. */
  readonly endsWithConnection?: boolean;
  /** Called once when nothing more can be sent. */
  readonly onClosed?: (abandoned: boolean) => void;
  /**
   * Ends a stream that lasts when its token has expired or is revoked, or its session has ended. Any other is given up
   * in the last two cases.
   */
  readonly onCut?: () => void;
}

interface StreamTableOptions extends Pick<Services, "secretBox" | "clock" | "timers" | "limits"> {
  /** Reports changes to a session; `null` is its end. */
  readonly watchSession: (session: Session, onChange: (session: Session | null) => void) => () => void;
  /** Calls back when the principal's token is revoked, until the returned function is called. */
  readonly watchToken?: ((principal: Principal, onRevoked: () => void) => () => void) | undefined;
}

/** A stream is resumed at the instance that holds it. */
export function createStreamTable({ secretBox, clock, timers, limits, watchSession, watchToken }: StreamTableOptions) {
  const instance = randomText(6);
  const answerIds = createIssuedIds(secretBox, "mcp-answer-stream");
  const open = new Map<MessageStream, string>();
  const resumable = new Map<
    string,
    { readonly stream: MessageStream; readonly owner: string; readonly principal: Principal }
  >();
  /** Complete ones by caller, the oldest first. */
  const complete = new Map<
    string,
    { kept: number; readonly streams: Map<string, { kept: number; stop: () => void }> }
  >();
  let kept = 0;
  let count = 0;

  /** That of an answer names its instance and its request, so that any other instance can end that request at once. */
  const newId = ({ key }: Session, requestId?: RpcId): string => {
    if (requestId === undefined) return randomText(issuedIdLength * 3 / 4);
    const text = JSON.stringify([instance, requestId]);
    return answerIds.issue(key) + (text.length > maxToldCharacters ? "" : Buffer.from(text).toString("base64url"));
  };
  const forget = (caller: string, resumeId: string): void => {
    const own = complete.get(caller);
    const stream = own?.streams.get(resumeId);
    if (own === undefined || stream === undefined) return;
    stream.stop();
    own.streams.delete(resumeId);
    own.kept -= stream.kept;
    if (own.streams.size === 0) complete.delete(caller);
    resumable.delete(resumeId);
    kept -= stream.kept;
    count--;
  };
  /** Past a bound, the oldest go of the caller who has most of it: one with large answers pushes out no other's. */
  const keep = (caller: string, resumeId: string, stream: MessageStream): void => {
    const own = complete.getOrInsertComputed(caller, () => ({ kept: 0, streams: new Map() }));
    const stop = timers.after(limits.resumeWindowMs, () => forget(caller, resumeId));
    own.streams.set(resumeId, { kept: stream.kept, stop });
    own.kept += stream.kept;
    kept += stream.kept;
    count++;
    while (kept > limits.maxReplayCharacters || count > limits.maxStreams) {
      const isLarge = kept > limits.maxReplayCharacters;
      let most = own;
      let its = caller;
      for (const [each, those] of complete) {
        const isMore = isLarge ? those.kept > most.kept : those.streams.size > most.streams.size;
        if (isMore) [its, most] = [each, those];
      }
      const [oldest = resumeId] = most.streams.keys();
      forget(its, oldest);
    }
  };

  return {
    /** Opens a stream, or `null` when there are too many. */
    open(request: StreamRequest): MessageStream | null {
      const { principal, session, requestId, endsWithConnection = session === null, onClosed, onCut } = request;
      const caller = callerKey(principal);
      const count = open.values().filter((each) => each === caller).toArray().length;
      if (open.size >= limits.maxStreams || count >= limits.maxStreamsPerPrincipal) return null;
      const resumeId = session === null ? null : newId(session, requestId);
      const stream = openMessageStream({
        maxFrames: limits.maxQueuedMessages,
        timers,
        resumeId,
        detachedMs: endsWithConnection ? 0 : limits.resumeWindowMs,
        onClosed(abandoned) {
          open.delete(stream);
          for (const stop of stops) stop?.();
          if (resumeId !== null && abandoned) resumable.delete(resumeId);
          else if (resumeId !== null) keep(caller, resumeId, stream);
          onClosed?.(abandoned);
        },
      });
      open.set(stream, caller);
      const cut = onCut ?? stream.abandon;
      const stops = [
        onCut && timers.after(principal.expiresAt - clock(), onCut),
        watchToken?.(principal, cut),
        session && watchSession(session, (later) => later === null ? cut() : undefined),
      ];
      if (session !== null && resumeId !== null) {
        resumable.set(resumeId, { stream, owner: session.key, principal });
      }
      return stream;
    },
    /**
     * What comes after the frame with this number of the session's stream with that id: `lost` for an answer of another
     * instance, of which only the request is known, and `notices` for none of an answer: a new stream is as good.
     */
    resume({ key }: Session, principal: Principal, resumeId: string, after: number) {
      const found = resumable.get(resumeId);
      // only for callers with every scope and directory that it was opened with
      const isHeld = found?.owner === key && hasDirectories(principal, found.principal.directories) &&
        found.principal.scopes.isSubsetOf(principal.scopes);
      if (isHeld && !found.stream.isOverAfter(after)) {
        return { kind: "reader", reader: found.stream.attach(after) } as const;
      }
      if (!answerIds.isIssued(resumeId.slice(0, issuedIdLength), key)) return { kind: "notices" } as const;
      const text = Buffer.from(resumeId.slice(issuedIdLength), "base64url").toString();
      const told = toldShape.safeParse(parseJson(text)).data;
      return isHeld || told === undefined || told[0] === instance
        ? { kind: "nothing" } as const
        : { kind: "lost", requestId: told[1] } as const;
    },
    /** How many streams are open. */
    get size() {
      return open.size;
    },
    /** Gives up all streams. */
    abandonAll() {
      for (const stream of [...open.keys()]) stream.abandon();
      for (const [caller, { streams }] of [...complete]) for (const id of [...streams.keys()]) forget(caller, id);
    },
  };
}
