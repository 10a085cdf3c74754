/** The four lists: tools, prompts, resources, templates. Those that are the same for everyone are kept as text. */
import type { McpAnswer } from "../answer.ts";
import { answerError, answerResult, type Call } from "../calls/call.ts";
import { isObject } from "../../lib/is_object.ts";
import { errorCode } from "../messages/jsonrpc.ts";
import { pageAt, pageStart } from "./paging.ts";
import type { Profile } from "../sessions/profile.ts";
import type { Prompt } from "../prompt.ts";
import type { Registry } from "./registry.ts";
import type { ResourceFamily, ResourceTemplate } from "../resource.ts";
import { resourcesPage } from "./resource_paging.ts";
import type { CacheHint, Revision } from "../revisions/revision.ts";
import type { RegisteredTool } from "./tool_registry.ts";
import { toFlatSchema } from "./tool_schema.ts";

/** Answers a request for a list. */
type ListHandler = (call: Call) => McpAnswer | Promise<McpAnswer>;

/** Answers `tools/list`. */
export function createToolsList(tools: Registry<never, RegisteredTool>): ListHandler {
  return createKeptList(
    tools,
    "tools",
    () => tools.all(),
    ({ tool }) => tool.name,
    (entry, { revision, exchange: { profile } }) =>
      revision.encodeTool(profile.flatParameters ? { ...entry, inputSchema: toFlatSchema(entry.inputSchema) } : entry),
  );
}

/** Answers `prompts/list`. */
export function createPromptsList(prompts: Registry<never, Prompt>): ListHandler {
  return createKeptList(prompts, "prompts", () => prompts.all(), ({ name }) => name, (prompt) => ({
    name: prompt.name,
    title: prompt.title,
    description: prompt.description,
    ...(prompt.arguments.length === 0 ? {} : { arguments: prompt.arguments }),
  }));
}

/** Answers `resources/templates/list`. */
export function createTemplatesList(families: Registry<never, ResourceFamily>): ListHandler {
  const templates = (): readonly ResourceTemplate[] => families.all().flatMap((family) => family.templates);
  return createKeptList(families, "resourceTemplates", templates, ({ uriTemplate }) => uriTemplate, (each) => each);
}

/** Answers `resources/list`, which differs from principal to principal. */
export function createResourcesList(families: Registry<never, ResourceFamily>): ListHandler {
  return async (call) => {
    const { secretBox, limits } = call.runtime;
    const page = await resourcesPage(secretBox, families.all(), call.principal, cursorOf(call), limits.pageSize);
    if (page === null) return answerError(call, errorCode.invalidParams, "Invalid cursor");
    const hint: CacheHint = { ttlMs: limits.listTtlMs, cacheScope: "private" };
    return answerResult(call, JSON.stringify(toResult(call, "resources", page.entries, page.nextCursor, hint)));
  };
}

function createKeptList<Entry>(
  registry: { readonly version: number },
  name: string,
  entries: () => readonly Entry[],
  nameOf: (entry: Entry) => string,
  encode: (entry: Entry, call: Call) => unknown,
): ListHandler {
  const kept = new Map<Profile, Map<Revision, Map<number, string>>>();
  let keptVersion = -1;

  const render = (call: Call, start: number): string => {
    const { secretBox, limits } = call.runtime;
    const page = pageAt(secretBox, { name, entries: entries(), nameOf }, start, limits.pageSize);
    const encoded = page.entries.map((entry) => encode(entry, call));
    const hint: CacheHint = { ttlMs: limits.listTtlMs, cacheScope: "public" };
    return JSON.stringify(toResult(call, name, encoded, page.nextCursor, hint));
  };

  return (call) => {
    const cursor = cursorOf(call);
    const start = cursor === undefined
      ? 0
      : pageStart(call.runtime.secretBox, { name, entries: entries(), nameOf }, cursor);
    if (start === null) return answerError(call, errorCode.invalidParams, "Invalid cursor");
    if (keptVersion !== registry.version) {
      kept.clear();
      keptVersion = registry.version;
    }
    const { revision, exchange: { profile } } = call;
    let byRevision = kept.get(profile);
    if (byRevision === undefined) kept.set(profile, byRevision = new Map());
    let pages = byRevision.get(revision);
    if (pages === undefined) byRevision.set(revision, pages = new Map());
    let text = pages.get(start);
    if (text === undefined) pages.set(start, text = render(call, start));
    return answerResult(call, text);
  };
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
