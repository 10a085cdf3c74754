/** HTTP GET and DELETE in the legacy era: a session's own stream, and a session's end. */
import type { Principal } from "../lib/principal.ts";
import { tooManyCalls, tooManyStreams } from "./tool_call.ts";
import type { Exchange, Runtime } from "./call.ts";
import type { McpAnswer, MessageStream } from "./message_stream.ts";
import { listNames } from "./notices.ts";
import { errorText, notificationText, rpcErrorCode, type RpcId } from "./jsonrpc.ts";
import { noticesOf, watchFamilies } from "./resource.ts";
import type { Session } from "./session.ts";
import { endWithToken, type StreamIds } from "./stream_table.ts";

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

/** Serves GET and DELETE. */
export function createSessionStreams(runtime: Runtime, ids: StreamIds) {
  const { sessions, streams, changes, features, resources, scopeNotices, admit, callWatch } = runtime;
  const open = new Map<string, OpenStream>();

  const tellOfList = (stream: MessageStream, list: typeof listNames[number]): void => {
    if (list === "tools" || features[list]) tell(stream, notificationText(`notifications/${list}/list_changed`));
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
    const stopTimer = endWithToken(principal, runtime, () => stream.end());
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
