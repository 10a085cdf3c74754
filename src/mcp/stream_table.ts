/** The open streams of a server: how many there may be, how they are found again, and how they all end. */
import { type Clock, systemTimers, type Timers } from "../lib/time.ts";
import type { Principal } from "../lib/principal.ts";
import { type MessageStream, openMessageStream } from "./message_stream.ts";
import type { RpcId } from "./jsonrpc.ts";
import type { McpLimits } from "./limits.ts";
import type { Session } from "./session.ts";
import type { StreamContent, StreamIds, StreamPosition } from "./stream_ids.ts";

interface StreamRequest {
  readonly principal: Principal;
  /** The session in which the stream can be resumed; `null` for a stream that cannot. */
  readonly session: Session | null;
  readonly content: StreamContent;
  readonly requestId?: RpcId;
  /** Whether the stream ends with its connection, or waits for its client to come back. */
  readonly endsWithConnection: boolean;
  /** Called once when nothing more can be sent. */
  readonly onClosed: (abandoned: boolean) => void;
  /** Ends the stream when its token is revoked or its session ended. Without it, the stream is given up then. */
  readonly onCut?: () => void;
}

interface StreamTableOptions {
  readonly limits: Pick<
    McpLimits,
    "maxStreams" | "maxStreamsPerPrincipal" | "maxQueuedMessages" | "resumeWindowMs" | "maxReplayCharacters"
  >;
  readonly ids: StreamIds;
  /** Calls back when a stream of this principal and session must end, until the returned function is called. */
  readonly watchEnd: (principal: Principal, session: Session | null, onEnd: () => void) => () => void;
  readonly timers?: Timers | undefined;
}

/** Calls `end` when the principal's token ends, unless the returned function is called first. */
export function endWithToken(
  { expiresAt }: Principal,
  { clock, timers = systemTimers }: { readonly clock: Clock; readonly timers?: Timers | undefined },
  end: () => void,
): () => void {
  return timers.after(expiresAt - clock(), end);
}

export interface StreamTable {
  /** Opens a stream, or `null` when there are too many. */
  open(request: StreamRequest): MessageStream | null;
  /** This session's stream with that id, if it is held here and the caller has every scope it was opened with. */
  find(session: Session, resumeId: string, principal: Principal): MessageStream | null;
  /** How many streams are open. */
  readonly size: number;
  /** Gives up all streams. */
  abandonAll(): void;
}

/** Takes the id of an event apart; `null` when it is none of ours. */
export function parseEventId(eventId: string): StreamPosition | null {
  const [, resumeId, number] = /^([\w-]+)\.(\d{1,15})$/.exec(eventId) ?? [];
  return resumeId === undefined ? null : { resumeId, after: Number(number) };
}

export function createStreamTable(options: StreamTableOptions): StreamTable {
  const { limits, ids, watchEnd, timers = systemTimers } = options;
  const open = new Set<MessageStream>();
  const perPrincipal = new Map<string, number>();
  const resumable = new Map<
    string,
    { readonly stream: MessageStream; readonly owner: string; readonly scopes: Principal["scopes"] }
  >();
  const complete = new Map<string, { readonly stopTimer: () => void; readonly kept: number }>();
  let kept = 0;

  const forget = (resumeId: string): void => {
    const entry = complete.get(resumeId);
    if (entry === undefined) return;
    entry.stopTimer();
    complete.delete(resumeId);
    resumable.delete(resumeId);
    kept -= entry.kept;
  };
  const keep = (resumeId: string, stream: MessageStream): void => {
    const stopTimer = timers.after(limits.resumeWindowMs, () => forget(resumeId));
    complete.set(resumeId, { stopTimer, kept: stream.kept });
    kept += stream.kept;
    for (const oldest of complete.keys()) {
      if (kept <= limits.maxReplayCharacters && complete.size <= limits.maxStreams) break;
      forget(oldest);
    }
  };

  return {
    open({ principal, session, content, requestId, endsWithConnection, onClosed, onCut }) {
      const owner = JSON.stringify([principal.subject, principal.clientId]);
      const count = perPrincipal.get(owner) ?? 0;
      if (open.size >= limits.maxStreams || count >= limits.maxStreamsPerPrincipal) return null;
      perPrincipal.set(owner, count + 1);
      const resumeId = session === null ? null : ids.issue(session, content, requestId);
      const stream = openMessageStream({
        maxFrames: limits.maxQueuedMessages,
        timers,
        resumeId,
        detachedMs: endsWithConnection ? 0 : limits.resumeWindowMs,
        onClosed(abandoned) {
          open.delete(stream);
          stopWatching();
          const left = (perPrincipal.get(owner) ?? 1) - 1;
          if (left === 0) perPrincipal.delete(owner);
          else perPrincipal.set(owner, left);
          if (resumeId !== null && abandoned) resumable.delete(resumeId);
          else if (resumeId !== null) keep(resumeId, stream);
          onClosed(abandoned);
        },
      });
      open.add(stream);
      const stopWatching = watchEnd(principal, session, onCut ?? stream.abandon);
      if (session !== null && resumeId !== null) {
        resumable.set(resumeId, { stream, owner: session.key, scopes: principal.scopes });
      }
      return stream;
    },
    find({ key }, resumeId, principal) {
      const found = resumable.get(resumeId);
      return found?.owner === key && found.scopes.isSubsetOf(principal.scopes) ? found.stream : null;
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
