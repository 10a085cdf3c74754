/** What HTTP's GET and DELETE mean in the legacy era: a session's own stream, and a session's end. */
import type { Principal } from "../lib/principal.ts";
import { type CallWatch, noCallWatch } from "./in_flight.ts";
import type { Clock, Timers } from "../lib/time.ts";
import { tooManyCalls, tooManyStreams } from "./tool_call.ts";
import type { Admit, Exchange } from "./call.ts";
import type { McpAnswer, MessageStream } from "./message_stream.ts";
import { type ChangeHub, listNames } from "./tasks.ts";
import { errorText, notificationText, rpcErrorCode, type RpcId } from "./jsonrpc.ts";
import { noticesOf, type ResourceRegistry, watchFamilies } from "./resource.ts";
import type { Session, Sessions } from "./session.ts";
import { endWithToken, type StreamIds, type StreamTable } from "./stream_table.ts";
import type { ServerFeatures } from "./initialize.ts";

// Lists show what a token may use. Once a client comes with a token of more scopes, after step-up, the streams that it
// opened with an earlier one are told that its lists changed.

export type ScopeNotices = ReturnType<typeof createScopeNotices>;

type Scopes = Principal["scopes"];

interface Listener {
  known: Scopes;
  readonly tell: () => void;
}

interface Client {
  readonly listeners: Set<Listener>;
  /** Each token's scopes are one object for as long as the token is known: every further request with it is no news. */
  noted: WeakSet<Scopes>;
}

export function createScopeNotices() {
  const clients = new Map<string, Client>();
  const keyOf = ({ subject, clientId }: Principal): string => JSON.stringify([subject, clientId]);

  const note = (principal: Principal): void => {
    if (clients.size === 0) return;
    const client = clients.get(keyOf(principal));
    const { scopes } = principal;
    if (client === undefined || client.noted.has(scopes)) return;
    client.noted.add(scopes);
    for (const listener of [...client.listeners]) {
      // A person's scripts are one client: a token of other scopes, not more, is no step-up.
      if (listener.known.size >= scopes.size || !listener.known.isSubsetOf(scopes)) continue;
      listener.known = scopes;
      listener.tell();
    }
  };
  return {
    /** Looks at the scopes of a request. */
    note,
    /** Calls `tell` when the principal comes with these scopes and more, until the returned function is called. */
    listen(principal: Principal, tell: () => void) {
      note(principal);
      const key = keyOf(principal);
      const client = clients.get(key) ?? { listeners: new Set<Listener>(), noted: new WeakSet<Scopes>() };
      clients.set(key, client);
      const listener = { known: principal.scopes, tell };
      client.listeners.add(listener);
      client.noted = new WeakSet();
      return () => {
        client.listeners.delete(listener);
        if (client.listeners.size === 0) clients.delete(key);
      };
    },
  };
}

interface SessionStreamsOptions {
  readonly sessions: Sessions;
  readonly streams: StreamTable;
  readonly changes: ChangeHub;
  readonly scopeNotices: ScopeNotices;
  readonly features: ServerFeatures;
  readonly clock: Clock;
  readonly timers?: Timers | undefined;
  readonly resources: ResourceRegistry;
  readonly ids: StreamIds;
  readonly admit: Admit;
  readonly callWatch?: CallWatch;
}

/** Serves GET and DELETE. */
export type SessionStreams = ReturnType<typeof createSessionStreams>;

/** The answer for a session that is not there: the client begins a new one (MCP 2025-03-26, basic/transports). */
export function sessionNotFound(id: RpcId | null): McpAnswer {
  return {
    kind: "json",
    status: 404,
    body: errorText(id, rpcErrorCode.invalidRequest, "Session not found: begin a new one with initialize"),
  };
}

/**
 * The answer to a client that resumes an answer of which nothing is left. 405 is the one refusal that
 * MCP 2025-11-25 (basic/transports) names for GET: clients stop there, while an empty stream makes them come back.
 */
const nothingToResume: McpAnswer = { kind: "method_not_allowed", allow: "POST", message: "Nothing is left to resume" };

/** The instance that ran the call was killed, or its client came back to another one. */
const lostAnswer =
  "The answer is lost: its connection broke, and this server did not run the call. It may have taken effect";

interface OpenStream {
  readonly stream: MessageStream;
  readonly principal: Principal;
  stopWatching: () => void;
}

export function createSessionStreams(options: SessionStreamsOptions) {
  const { sessions, streams, changes, features, resources, ids, scopeNotices, admit, callWatch = noCallWatch } =
    options;
  const open = new Map<string, OpenStream>();

  const tellOfList = (stream: MessageStream, list: typeof listNames[number]): void => {
    if (features[list]) tell(stream, notificationText(`notifications/${list}/list_changed`));
  };
  const tellOfResource = ({ stream, principal }: OpenStream, notice: string): void => {
    if (callWatch.refusal(principal) === null) tell(stream, notice);
  };
  changes.subscribe(({ kind }) => {
    if (kind === "task") return; // of the modern era
    for (const { stream } of [...open.values()]) tellOfList(stream, kind);
  });
  const follow = (entry: OpenStream, { subscriptions }: Session): void => {
    const stopBefore = entry.stopWatching;
    const wanted = { uris: subscriptions, lists: noticesOf(resources).ofLists };
    entry.stopWatching = watchFamilies(resources, entry.principal, wanted, {
      onChange: (uri) => tellOfResource(entry, notificationText("notifications/resources/updated", { uri })),
      onList: () => tellOfResource(entry, notificationText("notifications/resources/list_changed")),
    });
    stopBefore();
  };

  /** Ends the request of a call that another instance ran with an error. */
  const endLostCall = (principal: Principal, resumeId: string): McpAnswer => {
    const requestId = ids.requestElsewhere(resumeId);
    if (requestId === null) return nothingToResume;
    const stream = streams.open({
      principal,
      session: null,
      content: "answer",
      endsWithConnection: true,
      onClosed: () => {},
    });
    if (stream === null) return nothingToResume;
    stream.push(errorText(requestId, rpcErrorCode.internalError, lostAnswer), false);
    stream.end();
    return { kind: "stream", reader: stream.attach(-1) };
  };

  /** Opens the session's own stream in place of any before it. */
  const openOwn = (session: Session, principal: Principal): McpAnswer => {
    open.get(session.key)?.stream.end();
    const stream = streams.open({
      principal,
      session,
      content: "notices",
      endsWithConnection: false,
      onCut: () => entry.stream.end(),
      onClosed: () => {
        stopTimer();
        stopNotices();
        stopFollowing();
        entry.stopWatching();
        if (open.get(session.key) === entry) open.delete(session.key);
      },
    });
    if (stream === null) return tooManyStreams(null);
    const stopTimer = endWithToken(principal, options, () => stream.end());
    const entry: OpenStream = { stream, principal, stopWatching: () => {} };
    const stopNotices = scopeNotices.listen(principal, () => listNames.forEach((list) => tellOfList(stream, list)));
    open.set(session.key, entry);
    follow(entry, session);
    const stopFollowing = sessions.watch(session, (later) => {
      if (later !== null) follow(entry, later);
    });
    if (session.revision.primesStreams) stream.push("", false);
    return { kind: "stream", reader: stream.attach(-1) };
  };

  const resume = (session: Session, principal: Principal, position: StreamPosition): McpAnswer => {
    const held = streams.find(session, position.resumeId, principal);
    if (held !== null && !held.isOverAfter(position.after)) {
      return { kind: "stream", reader: held.attach(position.after) };
    }
    if (ids.contentOf(session, position.resumeId) !== "answer") return openOwn(session, principal);
    return held === null ? endLostCall(principal, position.resumeId) : nothingToResume;
  };

  return {
    /** Opens the session's stream, or resumes the one that `Last-Event-ID` names. */
    async open(exchange: Exchange): Promise<McpAnswer> {
      const { principal } = exchange;
      const id = exchange.header("mcp-session-id");
      if (id === null || !exchange.acceptsStream || !exchange.profile.streams) {
        return { kind: "method_not_allowed", allow: "POST" };
      }
      const session = await sessions.find(id, principal);
      if (session === null) return sessionNotFound(null);
      const position = parseEventId(exchange.header("last-event-id") ?? "");
      return position === null ? openOwn(session, principal) : resume(session, principal, position);
    },
    async end(exchange: Exchange): Promise<McpAnswer> {
      const { principal } = exchange;
      const id = exchange.header("mcp-session-id");
      if (id === null) return { kind: "method_not_allowed", allow: "POST" };
      const session = await sessions.find(id, principal);
      if (session === null) return sessionNotFound(null);
      const admission = await admit(principal); // the end is stored, so it counts like a call
      if (!admission.ok) return tooManyCalls(null, admission.retryAfterSeconds);
      await sessions.end(session);
      open.get(session.key)?.stream.end();
      return { kind: "accepted", status: 204 };
    },
    /** Tells the session's stream, if there is one, of the resources that it watches now. */
    follow(session: Session) {
      const entry = open.get(session.key);
      if (entry !== undefined) follow(entry, session);
    },
    /** Completes all of these streams, for shutdown. */
    endAll() {
      for (const { stream } of [...open.values()]) stream.end();
    },
  };
}

function tell(stream: MessageStream, text: string): void {
  if (!stream.push(text, true)) stream.abandon(); // its client cannot keep up: let it come back
}

/** Where a client left off. */
interface StreamPosition {
  readonly resumeId: string;
  /** The number of the last frame that it has. */
  readonly after: number;
}

/** Takes the id of an event apart; `null` when it is none of ours. */
function parseEventId(eventId: string): StreamPosition | null {
  const [, resumeId, number] = /^([\w-]+)\.(\d{1,15})$/.exec(eventId) ?? [];
  return resumeId === undefined ? null : { resumeId, after: Number(number) };
}
