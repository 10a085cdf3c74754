/** The open streams of a server: how many there may be, how they are found again, and how they all end. */
import { randomBytes } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import type { Principal } from "../lib/principal.ts";
import { type MessageStream, openMessageStream } from "./message_stream.ts";
import type { Session } from "./session.ts";

const longestTimerMs = 2 ** 31 - 1;

/** Limits of streams. */
export interface StreamLimits {
  readonly maxStreams: number;
  readonly maxStreamsPerPrincipal: number;
  /** How many messages may wait in one stream, or be kept to be sent again. */
  readonly maxQueuedMessages: number;
  /** How long a stream without its client, or one that is complete, can be resumed. */
  readonly resumeWindowMs: number;
  /** How many characters complete streams may keep in all, to be sent again; the oldest are forgotten first. */
  readonly maxReplayCharacters: number;
}

/** What opens a stream. */
export interface StreamRequest {
  readonly principal: Principal;
  /** The session in which the stream can be resumed; `null` for a stream that ends with its connection. */
  readonly session: Session | null;
  /** Called once when nothing more can be sent. */
  readonly onClosed: (abandoned: boolean) => void;
}

/** Calls `end` when the principal's token ends, unless the returned function is called first. */
export function endWithToken({ expiresAt }: Principal, clock: Clock, end: () => void): () => void {
  const left = expiresAt - clock();
  if (left > longestTimerMs) return () => {};
  const timer = setTimeout(end, left);
  return () => clearTimeout(timer);
}

/** The open streams. */
export interface StreamTable {
  /** Opens a stream, or `null` when there are too many. */
  open(request: StreamRequest): MessageStream | null;
  /** The stream and the number of its frame that an event id names, if it is of this session. */
  find(session: Session, eventId: string): { readonly stream: MessageStream; readonly after: number } | null;
  /** How many streams are open. */
  readonly size: number;
  /** Gives up all streams. */
  abandonAll(): void;
}

/** Makes an empty table. */
export function createStreamTable(limits: StreamLimits): StreamTable {
  const open = new Set<MessageStream>();
  const perPrincipal = new Map<string, number>();
  const resumable = new Map<string, { readonly stream: MessageStream; readonly owner: string }>();
  const complete = new Map<string, { readonly timer: ReturnType<typeof setTimeout>; readonly kept: number }>();
  let kept = 0;

  const forget = (resumeId: string): void => {
    const entry = complete.get(resumeId);
    if (entry === undefined) return;
    clearTimeout(entry.timer);
    complete.delete(resumeId);
    resumable.delete(resumeId);
    kept -= entry.kept;
  };
  const keep = (resumeId: string, stream: MessageStream): void => {
    const timer = setTimeout(() => forget(resumeId), limits.resumeWindowMs);
    complete.set(resumeId, { timer, kept: stream.kept });
    kept += stream.kept;
    for (const oldest of complete.keys()) {
      if (kept <= limits.maxReplayCharacters && complete.size <= limits.maxStreams) break;
      forget(oldest);
    }
  };

  return {
    open({ principal, session, onClosed }) {
      const owner = JSON.stringify([principal.subject, principal.clientId]);
      const count = perPrincipal.get(owner) ?? 0;
      if (open.size >= limits.maxStreams || count >= limits.maxStreamsPerPrincipal) return null;
      perPrincipal.set(owner, count + 1);
      const resumeId = session === null ? null : randomBytes(9).toString("base64url");
      const stream = openMessageStream({
        maxFrames: limits.maxQueuedMessages,
        resumeId,
        resumeWindowMs: limits.resumeWindowMs,
        onClosed(abandoned) {
          open.delete(stream);
          const left = (perPrincipal.get(owner) ?? 1) - 1;
          if (left === 0) perPrincipal.delete(owner);
          else perPrincipal.set(owner, left);
          if (resumeId !== null && abandoned) resumable.delete(resumeId);
          else if (resumeId !== null) keep(resumeId, stream);
          onClosed(abandoned);
        },
      });
      open.add(stream);
      if (session !== null && resumeId !== null) resumable.set(resumeId, { stream, owner: session.key });
      return stream;
    },
    find(session, eventId) {
      const dot = eventId.lastIndexOf(".");
      const found = resumable.get(eventId.slice(0, dot));
      const after = Number(eventId.slice(dot + 1));
      if (found === undefined || found.owner !== session.key || !Number.isSafeInteger(after)) return null;
      return { stream: found.stream, after };
    },
    get size() {
      return open.size;
    },
    abandonAll() {
      for (const stream of [...open]) stream.abandon();
      for (const resumeId of [...complete.keys()]) forget(resumeId);
    },
  };
}
