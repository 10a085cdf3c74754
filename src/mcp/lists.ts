/** The four lists: tools, prompts, resources, templates. Each shows what the caller's token may use. */
import { boundedMap } from "../lib/bounded_map.ts";
import { hasScopes, type Principal } from "../lib/principal.ts";
import type { McpAnswer } from "./answer.ts";
import { answerError, answerResult, type Call } from "./call.ts";
import { isObject } from "../lib/json.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import { pageAt, pageStart } from "./paging.ts";
import type { Prompt } from "./prompt.ts";
import type { Registry } from "./registry.ts";
import type { ResourceFamily } from "./resource.ts";
import { resourcesPage } from "./resource_paging.ts";
import type { CacheHint } from "./revision.ts";
import type { RegisteredTool } from "./tool_registry.ts";
import { toFlatSchema } from "./tool_schema.ts";

/** Answers a request for a list. */
type ListHandler = (call: Call) => McpAnswer | Promise<McpAnswer>;

/** Answers `tools/list`. */
export function createToolsList(tools: Registry<never, RegisteredTool>): ListHandler {
  return createKeptList(tools, {
    name: "tools",
    entries: () => tools.all().filter(({ tool }) => tool.unlisted !== true),
    nameOf: ({ tool }) => tool.name,
    scopesOf: ({ tool }) => tool.scopes,
    encode: (entry, { revision, resultForm, exchange: { profile } }) =>
      revision.encodeTool({
        ...entry,
        ...(profile.flatParameters ? { inputSchema: toFlatSchema(entry.inputSchema, entry.wholeSchema) } : {}),
        ...(resultForm === "text" ? { outputSchema: undefined } : {}),
      }),
  });
}

/** Answers `prompts/list`. */
export function createPromptsList(prompts: Registry<never, Prompt>): ListHandler {
  return createKeptList(prompts, {
    name: "prompts",
    entries: () => prompts.all(),
    nameOf: ({ name }) => name,
    scopesOf: ({ scopes }) => scopes,
    encode: (prompt) => ({
      name: prompt.name,
      title: prompt.title,
      description: prompt.description,
      ...(prompt.arguments.length === 0 ? {} : { arguments: prompt.arguments }),
    }),
  });
}

/** Answers `resources/templates/list`. */
export function createTemplatesList(families: Registry<never, ResourceFamily>): ListHandler {
  return createKeptList(families, {
    name: "resourceTemplates",
    entries: () =>
      families.all().flatMap(({ templates, scopes }) => templates.map((template) => ({ template, scopes }))),
    nameOf: ({ template }) => template.uriTemplate,
    scopesOf: ({ scopes }) => scopes,
    encode: ({ template }) => template,
  });
}

/** Answers `resources/list`, which differs from principal to principal. */
export function createResourcesList(families: Registry<never, ResourceFamily>): ListHandler {
  return async (call) => {
    const { secretBox, limits } = call.runtime;
    const allowed = families.all().filter(({ scopes }) => hasScopes(call.principal, scopes));
    const page = await resourcesPage(secretBox, allowed, call.principal, cursorOf(call), limits.pageSize);
    if (page === null) return answerError(call, rpcErrorCode.invalidParams, "Invalid cursor");
    const hint: CacheHint = { ttlMs: limits.listTtlMs, cacheScope: "private" };
    return answerResult(call, JSON.stringify(toResult(call, "resources", page.entries, page.nextCursor, hint)));
  };
}

interface ListOptions<Entry> {
  readonly name: string;
  readonly entries: () => readonly Entry[];
  readonly nameOf: (entry: Entry) => string;
  readonly scopesOf: (entry: Entry) => readonly string[];
  readonly encode: (entry: Entry, call: Call) => unknown;
}

/** A list as tokens of the same scopes see it, with the pages that were encoded, by form and where they start. */
interface View<Entry> {
  readonly entries: readonly Entry[];
  readonly texts: Map<string, string>;
}

/** Combinations of scopes for which a list is kept as text. */
const maxViews = 100;

function createKeptList<Entry>(
  registry: { readonly version: number },
  { name, entries, nameOf, scopesOf, encode }: ListOptions<Entry>,
): ListHandler {
  const views = boundedMap<string, View<Entry>>(maxViews);
  let keptVersion = -1;
  let neededScopes: readonly string[] = [];

  const viewOf = (principal: Principal): View<Entry> => {
    if (keptVersion !== registry.version) {
      views.clear();
      keptVersion = registry.version;
      neededScopes = [...new Set(entries().flatMap(scopesOf))];
    }
    const key = neededScopes.filter((scope) => principal.scopes.has(scope)).join(" ");
    let view = views.get(key);
    if (view === undefined) {
      view = { entries: entries().filter((entry) => hasScopes(principal, scopesOf(entry))), texts: new Map() };
      views.set(key, view);
    }
    return view;
  };
  const render = async (call: Call, visible: readonly Entry[], start: number): Promise<string> => {
    const { secretBox, limits } = call.runtime;
    const page = await pageAt(secretBox, { name, entries: visible, nameOf }, start, limits.pageSize);
    const encoded = page.entries.map((entry) => encode(entry, call));
    const hint: CacheHint = { ttlMs: limits.listTtlMs, cacheScope: "private" };
    return JSON.stringify(toResult(call, name, encoded, page.nextCursor, hint));
  };

  const answerPage = async (call: Call, { entries: visible, texts }: View<Entry>): Promise<McpAnswer> => {
    const start = await pageStart(call.runtime.secretBox, { name, entries: visible, nameOf }, cursorOf(call));
    if (start === null) return answerError(call, rpcErrorCode.invalidParams, "Invalid cursor");
    const key = textKey(call, start);
    let text = texts.get(key);
    if (text === undefined) texts.set(key, text = await render(call, visible, start));
    return answerResult(call, text);
  };

  return (call) => {
    const view = viewOf(call.principal);
    const first = cursorOf(call) === undefined ? view.texts.get(textKey(call, 0)) : undefined;
    return first === undefined ? answerPage(call, view) : answerResult(call, first);
  };
}

function textKey({ revision, resultForm, exchange: { profile } }: Call, start: number): string {
  return `${profile.name} ${revision.version} ${resultForm} ${start}`;
}

function toResult(
  { revision, exchange }: Call,
  name: string,
  entries: readonly unknown[],
  nextCursor: string | undefined,
  hint: CacheHint,
): object {
  const end = exchange.profile.endsListsWithEmptyCursor ? "" : undefined;
  return revision.withCacheHint({ [name]: entries, nextCursor: nextCursor ?? end }, hint);
}

function cursorOf({ request: { params } }: Call): unknown {
  return isObject(params) ? params["cursor"] : undefined;
}
