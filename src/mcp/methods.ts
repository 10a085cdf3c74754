/** The methods of the protocol, of both eras, but for streams and `tools/call`. */
import { didYouMean } from "../lib/suggestible.ts";
import { hasScopes, type Principal } from "../lib/principal.ts";
import type { Log } from "../lib/log.ts";
import { isObject, present } from "../lib/json.ts";
import {
  answerError,
  answerInvalid,
  answerResult,
  encodeBlock,
  logCrash,
  mark,
  objectOf,
  paramsOf,
  refuseScopes,
  requireTasks,
  runInContext,
} from "./call.ts";
import type { Call, McpAnswer, PublicCall, PublicExchange } from "./call.ts";
import type { Runtime } from "./runtime.ts";
import { isLoggingLevel, logLevels, rpcErrorCode } from "./jsonrpc.ts";
import { listen } from "./notice_streams.ts";
import { noCapabilities, parseClientCapabilities, tasksExtension, viewExtension } from "./question.ts";
import { canonicalUri, familyOf, maxSuggestions } from "./resource.ts";
import type { Prompt, Resource, ResourcePage } from "./resource.ts";
import { latestLegacyRevision, legacyRevisions } from "./revision.ts";
import type { CacheHint, Profile, Session } from "./revision.ts";
import { callTool } from "./tool_call.ts";
import * as z from "zod";
import { boundedMap } from "../lib/bounded_map.ts";
import { whenReady } from "../lib/turns.ts";
import { toFlatSchema } from "./registry.ts";
import { viewUri } from "./tool.ts";

/** One that only looks into memory answers without a promise. */
type Handler = (call: Call) => McpAnswer | Promise<McpAnswer>;

/** One that tells what there is, and so gives nothing while calls are stopped. */
const stoppable = (serve: Handler): Handler => (call) => {
  const refusal = call.runtime.callWatch.refusal(call.principal);
  return refusal === null ? serve(call) : refuseStopped(call, refusal);
};

/** Refuses a request while calls of its principal are stopped; the words say so. */
function refuseStopped(call: Call, words: string): McpAnswer {
  mark(call, "stopped");
  return answerError(call, rpcErrorCode.invalidRequest, words);
}

/**
 * Builds the table of methods; a revision's own list says which of them it has. Methods of features that the server does
 * not have are left out. `follow` tells a session's own stream what the session watches.
 */
export function createMethodTable(
  { features, ...offered }: Runtime,
  follow: (session: Session) => Promise<void>,
): ReadonlyMap<string, Handler> {
  const lists = createLists(offered);
  const table = new Map<string, Handler>([
    ["initialize", answerInitialize],
    ["server/discover", answerDiscover],
    ["ping", (call) => answerResult(call, "{}")],
    ["tools/list", lists.tools],
    ["tools/call", callTool],
    ["logging/setLevel", setLogLevel],
    ["subscriptions/listen", stoppable(listen)],
    ["tasks/get", stoppable(getTask)],
    ["tasks/update", stoppable(updateTask)],
    ["tasks/cancel", cancelTask],
  ]);
  if (features.prompts) {
    table.set("prompts/list", lists.prompts);
    table.set("prompts/get", getPrompt);
  }
  if (features.resources) {
    table.set("resources/list", stoppable(listResources));
    table.set("resources/templates/list", lists.templates);
    table.set("resources/read", readResource);
    table.set("resources/subscribe", (call) => watchResource(call, true, follow));
    table.set("resources/unsubscribe", (call) => watchResource(call, false, follow));
  }
  if (features.prompts || features.resources) table.set("completion/complete", stoppable(complete));
  return table;
}

// The openings: `initialize` of the legacy era, `server/discover` of the modern one.

/** The capabilities of a server: only what it can do; `announces`: whether this client has a stream for notices. */
function encodeServerCapabilities(
  { features: { prompts, resources: hasResources }, resources }: Runtime,
  announces: boolean,
): Readonly<Record<string, unknown>> {
  return {
    tools: { listChanged: announces },
    logging: {},
    ...(prompts ? { prompts: { listChanged: announces } } : {}),
    ...(hasResources ? { resources: { listChanged: announces, subscribe: announces && areWatchable(resources) } } : {}),
    ...(prompts || hasResources ? { completions: {} } : {}),
  };
}

/** Whether some resources can be watched. */
function areWatchable(resources: Runtime["resources"]): boolean {
  return resources.all().some(({ stamp }) => stamp !== undefined);
}

/**
 * Answers `initialize` with the version asked for, or with our latest when we do not speak that one. A session begins
 * only where it is of use: for clients that read streams.
 */
async function answerInitialize(call: Call): Promise<McpAnswer> {
  const { request: { params }, exchange, principal, runtime } = call;
  const { name } = clientIdentity(params);
  const profile = runtime.noteClient?.(principal, name, exchange.acceptsStream) ?? exchange.profile;
  const hasSession = profile.streams && exchange.acceptsStream;
  const capabilities = hasSession ? parseClientCapabilities(paramsOf(call)["capabilities"]) : noCapabilities;
  const { revision, answer } = openWith(call, principal, hasSession, capabilities.has("view"));
  if (!hasSession) return answer;
  return { ...answer, sessionId: await runtime.sessions.begin(principal, revision, capabilities) };
}

/** The same for a caller without a token, which gets no session: it starts over once it has signed in. */
export function answerPublicInitialize(call: PublicCall): McpAnswer {
  return openWith(call, null, false).answer;
}

function openWith(call: PublicCall, principal: Principal | null, hasSession: boolean, showsView = false) {
  const { request: { params }, exchange, runtime } = call;
  const { protocolVersion } = paramsOf(call);
  const asked = typeof protocolVersion === "string" ? protocolVersion : null;
  const revision = (asked === null ? undefined : legacyRevisions.get(asked)) ?? latestLegacyRevision;
  const client = clientIdentity(params);
  runtime.log.write("info", "client_initialized", {
    requestId: exchange.requestId,
    subject: principal?.subject ?? null,
    client: client.name,
    clientVersion: client.version,
    asked: asked?.slice(0, 40),
    answered: revision.version,
  });
  const result = {
    protocolVersion: revision.version,
    capabilities: {
      ...encodeServerCapabilities(runtime, hasSession),
      ...(showsView ? { extensions: { [viewExtension]: {} } } : {}),
    },
    serverInfo: revision.encodeServerInfo(runtime.serverInfo),
    instructions: runtime.instructions(principal),
  };
  return { revision, answer: answerResult(call, JSON.stringify(result)) };
}

/** Answers `notifications/initialized`. */
export function noteInitialized(log: Log, { requestId, profile }: PublicExchange): McpAnswer {
  log.write("debug", "client_ready", { requestId });
  return { kind: "accepted", status: profile.initializedStatus };
}

/** Answers `server/discover`: every modern client can subscribe to notices and take tasks. */
function answerDiscover(call: Call): McpAnswer {
  const { revision, principal, runtime, showsView } = call;
  const hint: CacheHint = { ttlMs: runtime.limits.listTtlMs, cacheScope: "private" };
  const offered = [tasksExtension, ...(showsView ? [viewExtension] : []), ...runtime.features.extensions];
  const extensions = Object.fromEntries(offered.map((id) => [id, {}]));
  const result = {
    supportedVersions: [revision.version],
    capabilities: { ...encodeServerCapabilities(runtime, true), extensions },
    instructions: runtime.instructions(principal),
  };
  return answerResult(call, JSON.stringify(revision.withCacheHint(result, hint)));
}

/** The client's name and version out of the params of `initialize`, cut for the log; `null` where it does not say. */
export function clientIdentity(params: unknown) {
  const info = isObject(params) ? params["clientInfo"] : undefined;
  const { name, version } = isObject(info) ? info : {};
  return {
    name: typeof name === "string" ? name.slice(0, 100) : null,
    version: typeof version === "string" ? version.slice(0, 100) : null,
  };
}

/** `logging/setLevel` of the legacy era. Without a session no messages are sent, and nothing is stored. */
async function setLogLevel(call: Call): Promise<McpAnswer> {
  const { level } = paramsOf(call);
  if (!isLoggingLevel(level)) return answerInvalid(call, `params.level must be one of: ${logLevels.join(", ")}`);
  if (call.session !== null) await call.runtime.sessions.setLogLevel(call.session, level);
  return answerResult(call, "{}");
}

// The four lists: tools, prompts, resources, templates. Each shows what the caller's token may use.

/** The lists whose pages are kept: all but `resources/list`, which differs from principal to principal. */
function createLists({ tools, prompts, resources: families }: Pick<Runtime, "tools" | "prompts" | "resources">) {
  const toolList = createKeptList(tools, {
    name: "tools",
    entries: tools.all,
    nameOf: ({ tool }) => tool.name,
    scopesOf: ({ tool }) => tool.scopes,
    profileOf: ({ tool }) => tool.profile,
    encode(entry, { revision, resultForm, showsView, exchange: { profile } }) {
      const encoded = revision.encodeTool({
        ...entry,
        ...(profile.flatParameters ? { inputSchema: toFlatSchema(entry.inputSchema, entry.wholeSchema) } : {}),
        ...(resultForm === "text" ? { outputSchema: undefined } : {}),
      });
      if (!showsView || entry.tool.hasView !== true) return encoded;
      return { ...encoded, _meta: { ...encoded["_meta"] as object | undefined, ui: { resourceUri: viewUri } } };
    },
  });
  return {
    tools(call: Call) {
      for (const { tool } of tools.all()) tool.refresh?.();
      return toolList(call);
    },
    prompts: createKeptList(prompts, {
      name: "prompts",
      entries: prompts.all,
      nameOf: ({ name }) => name,
      scopesOf: ({ scopes }) => scopes,
      encode: ({ name, title, description, arguments: parameters }) => ({
        name,
        title,
        description,
        ...(parameters.length === 0 ? {} : { arguments: parameters }),
      }),
    }),
    templates: createKeptList(families, {
      name: "resourceTemplates",
      entries: () =>
        families.all().flatMap(({ templates, scopes }) => templates.map((template) => ({ template, scopes }))),
      nameOf: ({ template }) => template.uriTemplate,
      scopesOf: ({ scopes }) => scopes,
      encode: ({ template }) => template,
    }),
  };
}

/** A list whose entries have names. */
interface ListOptions<Entry> {
  /** The list's name, to which its cursors are bound. */
  readonly name: string;
  readonly entries: () => readonly Entry[];
  readonly nameOf: (entry: Entry) => string;
  readonly scopesOf: (entry: Entry) => readonly string[];
  /** The profile whose clients alone see it. */
  readonly profileOf?: (entry: Entry) => Profile["name"] | undefined;
  readonly encode: (entry: Entry, call: Call) => unknown;
}

const cursorPurpose = "mcp-cursor";

/** Pages that are kept as text, by the scopes and the client that see them. */
const maxKeptPages = 100;

function createKeptList<Entry>(
  registry: { readonly version: number },
  { name, entries, nameOf, scopesOf, profileOf = () => undefined, encode }: ListOptions<Entry>,
): Handler {
  const texts = boundedMap<string, string>(maxKeptPages);
  let keptVersion = -1;
  let neededScopes: readonly string[] = [];

  const answerPage = async (call: Call, key: string, after: string | null | undefined): Promise<McpAnswer> => {
    const { principal, exchange: { profile }, runtime: { secretBox, limits: { pageSize } } } = call;
    const visible = entries().filter((entry) =>
      hasScopes(principal, scopesOf(entry)) && [undefined, profile.name].includes(profileOf(entry))
    );
    const start = after === undefined ? 0 : visible.findIndex((entry) => nameOf(entry) === after) + 1;
    if (after !== undefined && start === 0) return answerInvalid(call, invalidCursor); // or its entry is gone
    const page = visible.slice(start, start + pageSize);
    const last = page.at(-1);
    const hasMore = last !== undefined && start + pageSize < visible.length;
    const next = hasMore ? await secretBox.seal(cursorPurpose, nameOf(last), name) : undefined;
    const text = listText(call, name, page.map((entry) => encode(entry, call)), next);
    texts.set(key, text);
    return answerResult(call, text);
  };

  return (call) => {
    const { revision, resultForm, showsView, principal, exchange: { profile } } = call;
    if (keptVersion !== registry.version) {
      texts.clear();
      keptVersion = registry.version;
      neededScopes = [...new Set(entries().flatMap(scopesOf))];
    }
    const scopes = neededScopes.filter((scope) => principal.scopes.has(scope)).join(" ");
    return whenReady(openCursor(call, cursorPurpose, name), (after) => {
      const key = `${profile.name} ${revision.version} ${resultForm} ${showsView} ${scopes} ${after}`;
      const kept = texts.get(key);
      return kept === undefined ? answerPage(call, key, after) : answerResult(call, kept);
    });
  };
}

// `resources/list` in pages, over families that each list their own: a page may end in the midst of one.

const resourceCursorPurpose = "mcp-resource-cursor";
/** The family to go on with, and where in it; without that at its beginning. */
const sealedShape = z.lazy(() => z.union([z.tuple([z.string()]), z.tuple([z.string(), z.string()])]));

async function listResources(call: Call): Promise<McpAnswer> {
  const { principal, runtime: { resources, secretBox, limits: { pageSize } } } = call;
  const families = resources.all().filter(({ scopes }) => hasScopes(principal, scopes));
  const opened = await openCursor(call, resourceCursorPurpose, principal.subject);
  const [name, first] = typeof opened === "string" ? sealedShape.parse(JSON.parse(opened)) : [];
  const begin = opened === undefined ? 0 : families.findIndex((family) => family.name === name);
  if (begin < 0) return answerInvalid(call, invalidCursor);

  const entries: Resource[] = [];
  let position = first;
  let next: z.output<typeof sealedShape> | undefined;
  for (const family of families.slice(begin)) {
    if (entries.length >= pageSize) next = [family.name];
    else {
      const page: ResourcePage | null = family.listPage === undefined
        ? { resources: await family.list(principal) }
        : await family.listPage(principal, position, pageSize - entries.length);
      if (page === null) return answerInvalid(call, invalidCursor); // what it names is gone
      entries.push(...page.resources);
      if (page.next !== undefined) next = [family.name, page.next];
      position = undefined;
    }
    if (next !== undefined) break;
  }
  const cursor = next && await secretBox.seal(resourceCursorPurpose, JSON.stringify(next), principal.subject);
  return answerResult(call, listText(call, "resources", entries, cursor));
}

const invalidCursor = "Invalid cursor: leave it out to begin with the first page";

/** Where the request's cursor says to go on: `undefined` for the first page, `null` for a cursor that is not ours. */
function openCursor(call: Call, purpose: string, context: string): string | null | undefined | Promise<string | null> {
  const { cursor = "" } = paramsOf(call);
  if (cursor === "") return undefined;
  return typeof cursor === "string" ? call.runtime.secretBox.open(purpose, cursor, context) : null;
}

function listText(
  { revision, exchange: { profile }, runtime: { limits } }: Call,
  name: string,
  entries: readonly unknown[],
  nextCursor: string | undefined,
): string {
  const end = profile.endsListsWithEmptyCursor ? "" : undefined;
  const hint: CacheHint = { ttlMs: limits.listTtlMs, cacheScope: "private" };
  return JSON.stringify(revision.withCacheHint({ [name]: entries, nextCursor: nextCursor ?? end }, hint));
}

// Resources.

/** The words of a resource or prompt that cannot be given. */
function faultsOf(call: Call, kind: "resource" | "prompt", name: string) {
  return {
    crash(error: unknown, words: string | null): McpAnswer {
      logCrash(call, kind, name, error);
      return answerError(call, rpcErrorCode.internalError, words ?? "Internal server error");
    },
    fail: (_code: string, message: string): McpAnswer => answerInvalid(call, message),
  };
}

/** Reads a resource. An address of no family, or of none of its resources, is an error of the protocol. */
async function readResource(call: Call): Promise<McpAnswer> {
  const { uri } = paramsOf(call);
  if (typeof uri !== "string") return answerInvalid(call, "params.uri must be a string");
  const family = familyOf(call.runtime.resources, uri);
  if (family === undefined) return notFound(call, uri);
  if (!hasScopes(call.principal, family.scopes)) return refuseScopes(call, family.scopes);
  return await runInContext(call, {
    ...faultsOf(call, "resource", family.name),
    run: (context) => family.read(uri, context),
    encode(outcome) {
      if (outcome === null) return notFound(call, uri);
      if ("refusal" in outcome) return answerInvalid(call, outcome.refusal, { uri });
      const result = call.revision.withCacheHint({ contents: outcome.contents }, family.cacheHint);
      return answerResult(call, JSON.stringify(result));
    },
  });
}

function notFound(call: Call, uri: string): McpAnswer {
  return answerError(call, call.revision.resourceNotFoundCode, "Resource not found", { uri });
}

/** Begins or ends a legacy session's watch over a resource, which the session's stream is to `follow`. */
async function watchResource(call: Call, wanted: boolean, follow: (session: Session) => Promise<void>) {
  const { session, principal, runtime: { limits, resources, sessions, callWatch } } = call;
  const { uri } = paramsOf(call);
  if (typeof uri !== "string") return answerInvalid(call, "params.uri must be a string");
  if (session === null) {
    const words = "Subscriptions need a session: send initialize, and its Mcp-Session-Id with this request";
    return answerError(call, rpcErrorCode.invalidRequest, words);
  }
  const family = familyOf(resources, uri);
  if (family === undefined) return notFound(call, uri);
  if (!hasScopes(principal, family.scopes)) return refuseScopes(call, family.scopes);
  if (wanted && !areWatchable(resources)) {
    // Told so at the opening: `subscribe` is not among the capabilities (MCP 2025-11-25, server/resources).
    return answerError(call, rpcErrorCode.methodNotFound, "This server gives no notices of changes to resources");
  }
  if (wanted && family.stamp === undefined) {
    return answerInvalid(call, "There are no notices of changes to this resource", { uri });
  }
  const stopped = wanted ? callWatch.refusal(principal) : null;
  if (stopped !== null) return refuseStopped(call, stopped);
  // whether anything is there is not asked: an address of a judged place answers like any other
  if (wanted && await family.mayWatch?.(uri, principal) === false) {
    return answerInvalid(call, "The owner of this server does not allow this.", { uri });
  }
  const own = canonicalUri(resources, uri);
  const isSame = (other: string): boolean => canonicalUri(resources, other) === own;
  if (!await sessions.setSubscription(session, uri, wanted, isSame)) {
    const words = `At most ${limits.maxSubscriptions} resources can be watched, and fewer with long addresses`;
    return answerError(call, rpcErrorCode.invalidRequest, words);
  }
  await follow(session);
  return answerResult(call, "{}");
}

// Prompts.

async function getPrompt(call: Call): Promise<McpAnswer> {
  const { name, arguments: given } = paramsOf(call);
  if (typeof name !== "string") return answerInvalid(call, "params.name must be a string");
  const prompt = call.runtime.prompts.get(name);
  if (prompt === undefined) return unknownPrompt(call, name);
  if (!hasScopes(call.principal, prompt.scopes)) return refuseScopes(call, prompt.scopes);
  return await renderPrompt(prompt, objectOf(given), call);
}

async function renderPrompt(prompt: Prompt, given: unknown, call: Call): Promise<McpAnswer> {
  const values = isObject(given) ? present(given) : null;
  if (values === null || !Object.values(values).every((value) => typeof value === "string")) {
    return answerInvalid(call, "params.arguments must be an object of strings");
  }
  const absent = prompt.arguments.find(({ name, required }) => required && (values[name] ?? "") === "");
  if (absent !== undefined) return answerInvalid(call, `${absent.name} parameter is required`);
  return await runInContext(call, {
    ...faultsOf(call, "prompt", prompt.name),
    run: (context) => prompt.render(values as Record<string, string>, context),
    encode(outcome) {
      if (!outcome.ok) return answerInvalid(call, outcome.message);
      const { revision, exchange: { profile } } = call;
      const messages = outcome.messages.map(({ role, content }) => ({
        role,
        content: encodeBlock(content, revision, profile),
      }));
      return answerResult(call, JSON.stringify({ description: prompt.description, messages }));
    },
  });
}

function unknownPrompt(call: Call, name: string): McpAnswer {
  const offered = call.runtime.prompts.all().filter(({ scopes }) => hasScopes(call.principal, scopes));
  return answerInvalid(call, `Unknown prompt: ${name}${didYouMean(name, offered.map((each) => each.name))}`);
}

// Completion.

const maxValues = 100; // MCP schema, CompleteResult

/** Answers with the suggestions of the prompt or the family that is asked about. */
async function complete(call: Call): Promise<McpAnswer> {
  const { principal, runtime: { prompts, resources } } = call;
  const { ref, argument, context } = paramsOf(call);
  if (!isObject(argument) || typeof argument["name"] !== "string" || typeof argument["value"] !== "string") {
    return answerInvalid(call, "params.argument must have a name and a value");
  }
  const { name, value } = argument;
  const given = isObject(context) && isObject(context["arguments"]) ? context["arguments"] : {};
  const others = given as Readonly<Record<string, string>>;
  const { type, name: prompted, uri } = isObject(ref) ? ref : {};
  if (type === "ref/prompt" && typeof prompted === "string") {
    const prompt = prompts.get(prompted);
    return prompt === undefined
      ? unknownPrompt(call, prompted)
      : await answerValues(call, prompt.scopes, () => prompt.complete?.(name, value, others));
  }
  if (type === "ref/resource" && typeof uri === "string") {
    const family = resources.all().find(({ templates }) => templates.some((each) => each.uriTemplate === uri));
    if (family !== undefined) {
      return await answerValues(call, family.scopes, () => family.complete?.(uri, name, value, others, principal));
    }
    const known = resources.all().flatMap(({ templates }) => templates.map((each) => each.uriTemplate));
    return answerInvalid(call, `Unknown resource template: ${uri}${didYouMean(uri, known)}`);
  }
  return answerInvalid(call, "params.ref must name a prompt or a resource template");
}

async function answerValues(
  call: Call,
  scopes: readonly string[],
  suggest: () => readonly string[] | Promise<readonly string[]> | undefined,
): Promise<McpAnswer> {
  if (!hasScopes(call.principal, scopes)) return refuseScopes(call, scopes);
  const values = await suggest() ?? [];
  const total = values.length < maxSuggestions ? values.length : undefined;
  const completion = { values: values.slice(0, maxValues), total, hasMore: values.length > maxValues };
  return answerResult(call, JSON.stringify({ completion }));
}

// Tasks (SEP-2663).

/** Answers to a task of another instance are left in one stored value. */
const maxResponseCharacters = 50_000;

function getTask(call: Call): Promise<McpAnswer> {
  return withTask(call, async (task) => answerResult(call, JSON.stringify(await task.view())));
}

/** Hands in answers to a task's questions. */
function updateTask(call: Call): Promise<McpAnswer> {
  return withTask(call, async (task) => {
    const { inputResponses: given = null } = paramsOf(call);
    const inputResponses = objectOf(given);
    if (!isObject(inputResponses)) return answerInvalid(call, "params.inputResponses must be an object");
    if (JSON.stringify(inputResponses).length > maxResponseCharacters) {
      return answerInvalid(call, `params.inputResponses may have ${maxResponseCharacters} characters as JSON`);
    }
    const wrong = await task.answer(inputResponses);
    return wrong === null
      ? answerResult(call, "{}")
      : answerInvalid(call, `inputResponses.${wrong} does not answer its question`);
  });
}

/** Asks for a task's end. */
function cancelTask(call: Call): Promise<McpAnswer> {
  return withTask(call, async (task) => {
    await task.cancel();
    return answerResult(call, "{}");
  });
}

type FoundTask = NonNullable<Awaited<ReturnType<Runtime["tasks"]["find"]>>>;

async function withTask(call: Call, serve: (task: FoundTask) => Promise<McpAnswer>): Promise<McpAnswer> {
  const refusal = requireTasks(call);
  if (refusal !== null) return refusal;
  const { taskId } = paramsOf(call);
  if (typeof taskId !== "string") return answerInvalid(call, "params.taskId must be a string");
  const task = await call.runtime.tasks.find(call.principal, taskId);
  return task === null
    ? answerInvalid(call, "Unknown task: it may have expired; call the tool again")
    : await serve(task);
}
