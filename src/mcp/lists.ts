/** The four lists: tools, prompts, resources, templates. Each shows what the caller's token may use. */
import * as z from "zod";
import { hasScopes } from "../lib/principal.ts";
import type { PromptRegistry, Resource, ResourcePage, ResourceRegistry } from "./resource.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import { whenReady } from "../lib/turns.ts";
import { answerInvalid, answerResult, type Call, type McpAnswer, paramsOf } from "./call.ts";
import type { Profile } from "./profile.ts";
import { toFlatSchema, type ToolRegistry } from "./registry.ts";
import type { CacheHint } from "./revision.ts";
import { viewUri } from "./tool.ts";

const invalidCursor = "Invalid cursor: leave it out to begin with the first page";

const cursorPurpose = "mcp-cursor";

/** Where the request's cursor says to go on: `undefined` for the first page, `null` for a cursor that is not ours. */
function openCursor(call: Call, purpose: string, context: string): string | null | undefined | Promise<string | null> {
  const { cursor = "" } = paramsOf(call);
  if (cursor === "") return undefined;
  return typeof cursor === "string" ? call.runtime.secretBox.open(purpose, cursor, context) : null;
}

// `resources/list` in pages, over families that each list their own: a page may end in the midst of one.

const resourceCursorPurpose = "mcp-resource-cursor";
/** The family to go on with, and where in it; without that at its beginning. */
const sealedShape = z.lazy(() => z.union([z.tuple([z.string()]), z.tuple([z.string(), z.string()])]));

async function listResources(call: Call, registry: ResourceRegistry): Promise<McpAnswer> {
  const { principal, runtime: { secretBox, limits: { pageSize } } } = call;
  const families = registry.all().filter(({ scopes }) => hasScopes(principal, scopes));
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
  return answerResult(call, resultText(call, "resources", entries, cursor));
}

/** Answers a request for a list. */
type ListHandler = (call: Call) => McpAnswer | Promise<McpAnswer>;

/** Answers requests for the lists, by method. `resources/list` differs from principal to principal; the others are kept. */
export function createLists({ tools, prompts, resources: families }: {
  readonly tools: ToolRegistry;
  readonly prompts: PromptRegistry;
  readonly resources: ResourceRegistry;
}): Readonly<Record<"tools" | "prompts" | "templates" | "resources", ListHandler>> {
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
    tools(call) {
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
    resources: (call) => listResources(call, families),
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

/** Pages that are kept as text, by the scopes and the client that see them. */
const maxKeptPages = 100;

function createKeptList<Entry>(
  registry: { readonly version: number },
  { name, entries, nameOf, scopesOf, profileOf = () => undefined, encode }: ListOptions<Entry>,
): ListHandler {
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
    const text = resultText(call, name, page.map((entry) => encode(entry, call)), next);
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

function resultText(
  { revision, exchange: { profile }, runtime: { limits } }: Call,
  name: string,
  entries: readonly unknown[],
  nextCursor: string | undefined,
): string {
  const end = profile.endsListsWithEmptyCursor ? "" : undefined;
  const hint: CacheHint = { ttlMs: limits.listTtlMs, cacheScope: "private" };
  return JSON.stringify(revision.withCacheHint({ [name]: entries, nextCursor: nextCursor ?? end }, hint));
}
