/**
 * Streams of notices that last: a legacy session's own (HTTP's GET; DELETE ends the session) and the modern
 * `subscriptions/listen`.
 */
import { nextTurn } from "../lib/turns.ts";
import type { Principal } from "../lib/principal.ts";
import { answerError, answerInvalid, mark, paramsOf, requireTasks } from "./call.ts";
import type { Call, Exchange, McpAnswer } from "./call.ts";
import type { Runtime } from "./runtime.ts";
import { isObject } from "../lib/json.ts";
import { errorText, notificationText, refusalCode, resultText, rpcErrorCode, type RpcId } from "./jsonrpc.ts";
import { canonicalUri, mayWatch } from "./resource.ts";
import type { Session } from "./revision.ts";
import type { TaskView } from "./tasks.ts";

const streamRetrySeconds = 60;

/** The lists that may change while the server runs. */
const listNames = ["tools", "prompts", "resources"] as const;
type ListName = typeof listNames[number];

/** The lists of what this server has. */
function offeredLists({ features }: Runtime): readonly ListName[] {
  return listNames.filter((list) => list === "tools" || features[list]);
}

/** What a stream's client is told of. */
interface Notices {
  readonly principal: Principal;
  readonly session: Session | null;
  readonly lists: readonly ListName[];
  readonly tasks?: readonly TaskView[];
  /** Goes with each notice. */
  readonly _meta?: Readonly<Record<string, unknown>>;
  /** The last message, where the stream ends well. */
  readonly last?: string;
  readonly onClosed?: () => void;
}

/** Opens the stream; `null` when there are too many. It ends with its token or session, and when the server drains. */
function openNotices(runtime: Runtime, { principal, session, lists, tasks = [], _meta, last, onClosed }: Notices) {
  const { streams, changes, scopeNotices, watchResources, callWatch, enders } = runtime;
  let stopWatching = (): void => {};
  const end = (): void => {
    if (last !== undefined) stream?.push(last, false);
    stream?.end();
  };
  const stream = streams.open({
    principal,
    session,
    onCut: end,
    onClosed() {
      for (const stop of stops) stop();
      stopWatching();
      enders.delete(end);
      onClosed?.();
    },
  });
  if (stream === null) return null;
  const tell = (method: string, params?: object): void => {
    if (!stream.push(notificationText(method, params), true)) stream.abandon(); // it cannot keep up: let it come back
  };
  const tellOfList = (list: ListName): void => {
    if (lists.includes(list)) tell(`notifications/${list}/list_changed`, _meta && { _meta });
  };
  const tellOfResource = (method: string, params?: object): void => {
    if (callWatch.refusal(principal) === null) tell(method, params);
  };
  const tellOfTask = (task: TaskView): void => tell("notifications/tasks", { _meta, ...task });
  const stops = [
    changes.subscribe((change) => {
      if (change.kind !== "task") return tellOfList(change.kind);
      const isOwn = change.subject === principal.subject && change.clientId === principal.clientId;
      if (isOwn && tasks.some(({ taskId }) => taskId === change.task.taskId)) tellOfTask(change.task);
    }),
    scopeNotices.listen(principal, () => listNames.forEach(tellOfList)),
    runtime.tasks.follow(tasks, tellOfTask),
  ];
  enders.add(end);
  return {
    stream,
    end,
    /**
     * Watches these resources, and with `coming` those that come and go. Once it has resolved each change is told: the
     * client is answered then, and may change one at once.
     */
    async watch(uris: Iterable<string>, coming: boolean): Promise<void> {
      const watching = watchResources(principal, { uris, lists: coming }, {
        onChange: (uri) => tellOfResource("notifications/resources/updated", { _meta, uri }),
        onList: () => tellOfResource("notifications/resources/list_changed", _meta && { _meta }),
      });
      stopWatching();
      stopWatching = watching.stop;
      await watching.begun();
    },
  };
}

// HTTP GET and DELETE in the legacy era.

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

/** The id of an event: a stream's, and the number of the last frame that the client has. */
const eventId = /^([\w-]+)\.(\d{1,15})$/;

/** Serves GET and DELETE. */
export function createSessionStreams(runtime: Runtime) {
  const { sessions, streams, features, clock, limits: { sessionLifetimeMs } } = runtime;
  const startedAt = clock();
  const open = new Map<string, NonNullable<ReturnType<typeof openNotices>>>();
  const lists = offeredLists(runtime);

  /** Tells the session's stream, if there is one, of the resources that it watches now. */
  const follow = async ({ key, subscriptions }: Session): Promise<void> =>
    await open.get(key)?.watch(subscriptions, true);

  /** Opens the session's own stream in place of any before it. */
  const openOwn = async (session: Session, principal: Principal): Promise<McpAnswer> => {
    const { key } = session;
    open.get(key)?.end();
    const onClosed = (): void => {
      stopFollowing();
      if (open.get(key) === own) open.delete(key);
    };
    const own = openNotices(runtime, { principal, session, lists, onClosed });
    if (own === null) return tooManyStreams(null);
    open.set(key, own);
    const following = follow(session);
    const stopFollowing = sessions.watch(session, (later) => {
      if (later !== null) void follow(later);
    });
    if (session.revision.primesStreams) own.stream.push("", false);
    // a directory, for one, that came or went with this start was told by no stream
    const isOlder = session.expiresAt - sessionLifetimeMs < startedAt;
    if (features.resources && isOlder) own.stream.push(notificationText("notifications/resources/list_changed"), true);
    await following;
    return { kind: "stream", reader: own.stream.attach(-1) };
  };

  /** Ends the request of a call that another instance ran with an error. */
  const endLostCall = (principal: Principal, requestId: RpcId): McpAnswer => {
    const stream = streams.open({ principal, session: null });
    if (stream === null) return nothingToResume;
    stream.push(errorText(requestId, rpcErrorCode.internalError, lostAnswer), false);
    stream.end();
    return { kind: "stream", reader: stream.attach(-1) };
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
      const [, resumeId, after] = eventId.exec(exchange.header("last-event-id") ?? "") ?? [];
      if (resumeId === undefined) return await openOwn(session, principal);
      const stopped = runtime.callWatch.refusal(principal);
      if (stopped !== null) {
        return { kind: "json", status: 403, body: errorText(null, rpcErrorCode.invalidRequest, stopped) };
      }
      const resumed = streams.resume(session, principal, resumeId, Number(after));
      switch (resumed.kind) {
        case "reader":
          return { kind: "stream", reader: resumed.reader };
        case "notices":
          return await openOwn(session, principal);
        case "lost":
          return endLostCall(principal, resumed.requestId);
        case "nothing":
          return nothingToResume;
      }
    },
    async end(exchange: Exchange): Promise<McpAnswer> {
      const { principal } = exchange;
      const id = exchange.header("mcp-session-id");
      if (id === null) return { kind: "method_not_allowed", allow: "POST" };
      const session = await sessions.find(id, principal);
      if (session === null) return sessionNotFound(null);
      await sessions.end(session);
      open.get(session.key)?.end();
      return { kind: "accepted", status: 204 };
    },
    follow,
  };
}

// `subscriptions/listen`.

/** The id that ties a message to its subscription. */
const subscriptionIdKey = "io.modelcontextprotocol/subscriptionId";

/** Opens the stream: first the acknowledgement of what will be told, then the notices, at the end a result. */
export async function listen(call: Call): Promise<McpAnswer> {
  const { request: { id }, exchange, principal, runtime } = call;
  const { notifications: wanted } = paramsOf(call);
  if (!isObject(wanted)) return answerInvalid(call, "params.notifications must be an object");
  if (!exchange.acceptsStream) {
    const words = "subscriptions/listen needs a client that accepts text/event-stream";
    return answerError(call, rpcErrorCode.invalidRequest, words);
  }
  const taskIds = stringsOf(wanted["taskIds"]);
  const refusal = taskIds.length > 0 ? requireTasks(call) : null;
  if (refusal !== null) return refusal;
  const looks = taskIds.slice(0, runtime.limits.maxSubscriptions).map((each) => runtime.tasks.find(principal, each));
  const tasks = (await Promise.all(looks)).flatMap((task) => task?.known ?? []);
  const lists = offeredLists(runtime).filter((list) => wanted[`${list}ListChanged`] === true);
  const watched = await watchableOf(call, stringsOf(wanted["resourceSubscriptions"]));
  const filter = {
    ...Object.fromEntries(lists.map((list) => [`${list}ListChanged`, true])),
    ...(watched.length > 0 && { resourceSubscriptions: watched }),
    ...(tasks.length > 0 && { taskIds: tasks.map(({ taskId }) => taskId) }),
  };
  const _meta = { [subscriptionIdKey]: id };
  const notices = openNotices(runtime, {
    principal,
    session: null,
    lists,
    tasks,
    _meta,
    last: resultText(id, JSON.stringify({ resultType: "complete", _meta })),
  });
  if (notices === null) {
    mark(call, "rate_limited", "too_many_streams");
    return tooManyStreams(id);
  }
  await notices.watch(watched, lists.includes("resources"));
  const acknowledged = { _meta, notifications: filter };
  notices.stream.push(notificationText("notifications/subscriptions/acknowledged", acknowledged), false);
  return { kind: "stream", reader: notices.stream.attach(-1) };
}

/** Of the addresses, those that can be watched: equivalent ones are one resource, by the client's first spelling. */
async function watchableOf({ principal, runtime: { resources, limits } }: Call, wanted: readonly string[]) {
  const spelled = new Map<string, string>();
  for (const uri of wanted.slice(0, limits.maxSubscriptions)) {
    await nextTurn(); // addresses may be long
    spelled.getOrInsertComputed(canonicalUri(resources, uri), () => uri);
  }
  const watchable: string[] = [];
  for (const uri of spelled.values()) {
    await nextTurn();
    if (await mayWatch(resources, principal, uri)) watchable.push(uri);
  }
  return watchable;
}

function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** The refusal of a stream over the limit. */
function tooManyStreams(id: RpcId | null): McpAnswer {
  const body = errorText(id, refusalCode.rateLimited, "Too many streams are open");
  return { kind: "rate_limited", retryAfterSeconds: streamRetrySeconds, body };
}
