/** `subscriptions/listen`: the modern stream of change notices. */
import type { Principal } from "../lib/principal.ts";
import type { McpAnswer } from "./message_stream.ts";
import { answerError, type Call } from "./call.ts";
import { tooManyStreams } from "./tool_call.ts";
import { listNames, type OfferChange } from "./notices.ts";
import { isObject } from "../lib/json.ts";
import { notificationText, resultText, rpcErrorCode, type RpcId } from "./jsonrpc.ts";
import { canonicalUri, mayWatch, noticesOf, watchFamilies } from "./resource.ts";
import { endWithToken } from "./stream_table.ts";
import { requireTasks } from "./task_methods.ts";
import type { TaskView } from "./task_store.ts";

/** The notices that a client asked for. */
interface Filter {
  toolsListChanged?: true;
  promptsListChanged?: true;
  resourcesListChanged?: true;
  resourceSubscriptions?: readonly string[];
  taskIds?: readonly string[];
}

/** Opens the stream: first the acknowledgement of what will be told, then the notices, at the end a result. */
export async function listen(call: Call): Promise<McpAnswer> {
  const { request: { id, params }, exchange, principal, runtime } = call;
  const wanted = isObject(params) ? params["notifications"] : undefined;
  if (!isObject(wanted)) return answerError(call, rpcErrorCode.invalidParams, "params.notifications must be an object");
  if (!exchange.acceptsStream) {
    return answerError(
      call,
      rpcErrorCode.invalidRequest,
      "subscriptions/listen needs a client that accepts text/event-stream",
    );
  }
  const taskIds = stringsOf(wanted["taskIds"]);
  const refusal = taskIds.length > 0 ? requireTasks(call) : null;
  if (refusal !== null) return refusal;
  const tasks = await ownTasks(call, taskIds);
  const filter = await honouredFilter(call, wanted, tasks);

  const stream = runtime.streams.open({
    principal,
    session: null,
    content: "notices",
    endsWithConnection: true,
    onCut: () => end(),
    onClosed: () => {
      stopListening();
      stopNotices();
      stopWatching();
      stopFollowing();
      keepOpen();
      runtime.enders.delete(end);
    },
  });
  if (stream === null) {
    call.outcome = "rate_limited";
    call.code = "too_many_streams";
    return tooManyStreams(id);
  }
  const end = (): void => {
    stream.push(resultText(id, JSON.stringify({ resultType: "complete", _meta: subscriptionMeta(id) })), false);
    stream.end();
  };
  const tell = (notice: string): void => {
    if (!stream.push(notice, true)) stream.abandon(); // it cannot keep up: let it come back
  };
  const tellOfResource = (notice: string): void => {
    if (runtime.callWatch.refusal(principal) === null) tell(notice);
  };
  const hear = (change: OfferChange): void => {
    const notice = noticeOf(change, filter, principal, id);
    if (notice !== null) tell(notice);
  };
  const stopListening = runtime.changes.subscribe(hear);
  const stopNotices = runtime.scopeNotices.listen(principal, () => listNames.forEach((kind) => hear({ kind })));
  const wantedChanges = { uris: filter.resourceSubscriptions ?? [], lists: filter.resourcesListChanged === true };
  const _meta = subscriptionMeta(id);
  const stopWatching = watchFamilies(runtime.resources, principal, wantedChanges, {
    onChange: (uri) => tellOfResource(notificationText("notifications/resources/updated", { _meta, uri })),
    onList: () => tellOfResource(notificationText("notifications/resources/list_changed", { _meta })),
  });
  const stopFollowing = runtime.tasks.follow(tasks);
  const keepOpen = endWithToken(principal, runtime, end);
  runtime.enders.add(end);
  stream.push(
    notificationText("notifications/subscriptions/acknowledged", {
      _meta,
      notifications: filter,
    }),
    false,
  );
  return { kind: "stream", reader: stream.attach(-1) };
}

async function ownTasks(call: Call, taskIds: readonly string[]): Promise<readonly TaskView[]> {
  const { principal, runtime: { tasks, limits } } = call;
  const found = await Promise.all(taskIds.slice(0, limits.maxSubscriptions).map((id) => tasks.look(principal, id)));
  return found.filter((task) => task !== null);
}

async function honouredFilter(
  { principal, runtime: { features, resources, limits } }: Call,
  wanted: Readonly<Record<string, unknown>>,
  tasks: readonly TaskView[],
): Promise<Filter> {
  const filter: Filter = {};
  if (wanted["toolsListChanged"] === true) filter.toolsListChanged = true;
  if (wanted["promptsListChanged"] === true && features.prompts) filter.promptsListChanged = true;
  if (wanted["resourcesListChanged"] === true && features.resources && noticesOf(resources).ofLists) {
    filter.resourcesListChanged = true;
  }
  const uris = stringsOf(wanted["resourceSubscriptions"]).slice(0, limits.maxSubscriptions);
  // equivalent addresses are one resource; notices use the client's first spelling
  const spelled = new Map(uris.toReversed().map((uri) => [canonicalUri(resources, uri), uri]));
  const watchable: string[] = [];
  for (const uri of uris) {
    if (spelled.get(canonicalUri(resources, uri)) !== uri) continue;
    if (await mayWatch(resources, principal, uri)) watchable.push(uri);
  }
  if (watchable.length > 0) filter.resourceSubscriptions = watchable;
  if (tasks.length > 0) filter.taskIds = tasks.map(({ taskId }) => taskId);
  return filter;
}

function noticeOf(change: OfferChange, filter: Filter, principal: Principal, id: RpcId): string | null {
  const _meta = subscriptionMeta(id);
  if (change.kind !== "task") {
    const isWanted = filter[`${change.kind}ListChanged`] === true;
    return isWanted ? notificationText(`notifications/${change.kind}/list_changed`, { _meta }) : null;
  }
  const isOwn = change.subject === principal.subject && change.clientId === principal.clientId;
  if (!isOwn || !filter.taskIds?.includes(change.task.taskId)) return null;
  return notificationText("notifications/tasks", { _meta, ...change.task });
}

function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** The id that ties a notification to a subscription, where there are such. */
const subscriptionIdKey = "io.modelcontextprotocol/subscriptionId";

/** The `_meta` of a message that belongs to a subscription. */
function subscriptionMeta(id: RpcId): Readonly<Record<string, unknown>> {
  return { [subscriptionIdKey]: id };
}
