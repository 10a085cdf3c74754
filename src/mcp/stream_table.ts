/** The open streams of a server: their limit, how they are resumed, and how they all end. */
import * as z from "zod";
import { equalInConstantTime, randomText, type SecretBox } from "../lib/secrets.ts";
import { parseJson } from "../lib/json.ts";
import type { RpcId } from "./jsonrpc.ts";
import type { Session } from "./session.ts";
import type { Clock, Timers } from "../lib/time.ts";
import { callerKey, type Principal } from "../lib/principal.ts";
import { type MessageStream, openMessageStream } from "./message_stream.ts";
import type { McpLimits } from "./limits.ts";

// MACed ids, each for one session: any instance can reject a forged id without touching the storage.

const randomLength = 12;
const markLength = 16;
const issuedIdLength: number = randomLength + markLength;

/** Ids of one purpose; those of another are none here. */
export function createIssuedIds(secretBox: Pick<SecretBox, "authenticate">, purpose: string) {
  const markOf = (random: string, owner: string): string =>
    secretBox.authenticate(purpose, `${random} ${owner}`).slice(0, markLength);
  return {
    /** A new id for a session. */
    issue(owner: string) {
      const random = randomText(randomLength * 3 / 4);
      return random + markOf(random, owner);
    },
    /** Whether the id was issued for this session, by any instance. */
    isIssued(id: string, owner: string) {
      return equalInConstantTime(id.slice(randomLength), markOf(id.slice(0, randomLength), owner));
    },
  };
}

/** What a stream carries: a call's messages up to its response, or a session's notices, which any instance can send. */
type StreamContent = "answer" | "notices";

export type StreamIds = ReturnType<typeof createStreamIds>;

/** The instance and the request are part of each event id of an answer; where they are longer, they are left out. */
const maxToldCharacters = 80;
const toldShape = z.lazy(() => z.tuple([z.string(), z.union([z.string(), z.number()])]));

/**
 * Ids of streams. A stream is resumed at the instance that holds it. The id of an answer names its instance and its
 * request, so that any other instance can end that request with an error at once.
 */
export function createStreamIds(secretBox: SecretBox) {
  const ids = {
    answer: createIssuedIds(secretBox, "mcp-answer-stream"),
    notices: createIssuedIds(secretBox, "mcp-notice-stream"),
  };
  const instance = randomText(6);
  return {
    /** An id for a stream of the session; that of an answer says which request it answers. */
    issue({ key }: Session, content: StreamContent, requestId?: RpcId) {
      const text = requestId === undefined ? "" : JSON.stringify([instance, requestId]);
      const told = text.length > maxToldCharacters ? "" : Buffer.from(text).toString("base64url");
      return ids[content].issue(key) + told;
    },
    /** The request that the stream with this id answers; `null` if the id does not say, or is this instance's. */
    requestElsewhere(resumeId: string): RpcId | null {
      const text = Buffer.from(resumeId.slice(issuedIdLength), "base64url").toString();
      const told = toldShape.safeParse(parseJson(text)).data;
      return told === undefined || told[0] === instance ? null : told[1];
    },
    /** What the stream with this id carries, if it is one of this session's, on any instance. */
    contentOf({ key }: Session, resumeId: string): StreamContent | null {
      if (ids.answer.isIssued(resumeId.slice(0, issuedIdLength), key)) return "answer";
      return ids.notices.isIssued(resumeId, key) ? "notices" : null;
    },
  };
}

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
  readonly timers: Timers;
}

/** Calls `end` when the principal's token ends, unless the returned function is called first. */
export function endWithToken(
  { expiresAt }: Principal,
  { clock, timers }: { readonly clock: Clock; readonly timers: Timers },
  end: () => void,
): () => void {
  return timers.after(expiresAt - clock(), end);
}

export type StreamTable = ReturnType<typeof createStreamTable>;

export function createStreamTable(options: StreamTableOptions) {
  const { limits, ids, watchEnd, timers } = options;
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
    /** Opens a stream, or `null` when there are too many. */
    open(
      { principal, session, content, requestId, endsWithConnection, onClosed, onCut }: StreamRequest,
    ): MessageStream | null {
      const owner = callerKey(principal);
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
    /** This session's stream with that id, if it is held here and the caller has every scope it was opened with. */
    find({ key }: Session, resumeId: string, principal: Principal): MessageStream | null {
      const found = resumable.get(resumeId);
      return found?.owner === key && found.scopes.isSubsetOf(principal.scopes) ? found.stream : null;
    },
    /** How many streams are open. */
    get size() {
      return open.size;
    },
    /** Gives up all streams. */
    abandonAll() {
      for (const stream of [...open]) stream.abandon();
      for (const resumeId of [...complete.keys()]) forget(resumeId);
    },
  };
}
