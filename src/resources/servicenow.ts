/**
 * ServiceNow records as resources: one fixed URI and four templates. A failure of any of them is JSON content that says
 * what to do, never an exception: a read tells its reader the truth, and crashes nothing.
 */
import type { Principal } from "../lib/principal.ts";
import type { FailureWords } from "../servicenow/failure.ts";
import type { FoundRecord, ServicenowRecords } from "../servicenow/port.ts";
import { type RecordKind, recordKinds } from "../servicenow/tables.ts";
import { toRecordText } from "../servicenow/record_text.ts";

/** A resource as `resources/list` shows it (MCP schema `Resource`). */
export interface RecordResource {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
}

/** A template as `resources/templates/list` shows it (MCP schema `ResourceTemplate`; RFC 6570). */
export interface ResourceTemplate extends Omit<RecordResource, "uri"> {
  readonly uriTemplate: string;
}

/** One content item of `resources/read`. */
interface ResourceContents {
  readonly uri: string;
  readonly mimeType: string;
  readonly text: string;
}

interface ResourceContext {
  readonly principal: Principal;
  readonly signal: AbortSignal;
}

/** The family as the protocol layer takes it. */
export interface ServicenowResources {
  readonly name: string;
  /** All of these must be in the principal's effective scopes. */
  readonly scopes: readonly string[];
  /** Whether the URI is for this family to answer, be it good or not. */
  owns(uri: string): boolean;
  list(): readonly RecordResource[];
  readonly templates: readonly ResourceTemplate[];
  /** What a person reads depends on who they are, and is to be the current state: no client shares or keeps it. */
  readonly cacheHint: { readonly ttlMs: 0; readonly cacheScope: "private" };
  read(uri: string, context: ResourceContext): Promise<{ readonly contents: readonly ResourceContents[] }>;
}

const scheme = "servicenow://";
const scope = "servicenow:read";
const mimeType = "application/json";

const described: Readonly<Record<RecordKind, { readonly title: string; readonly description: string }>> = {
  incident: { title: "Incident", description: "Incident record by sys_id" },
  change_request: { title: "Change request", description: "Change request record by sys_id" },
  kb_knowledge: { title: "Knowledge article", description: "Knowledge base article by sys_id" },
  catalog: { title: "Catalog item", description: "Service catalog item by sys_id" },
};

export function servicenowResources(servicenow: Pick<ServicenowRecords, "reader" | "describe">): ServicenowResources {
  const { reader, describe } = servicenow;

  const readText = async (uri: string, context: ResourceContext): Promise<string> => {
    const { subject, scopes } = context.principal;
    if (!scopes.has(scope)) {
      return errorText({ error: "Insufficient permissions", detail: `The access token lacks the scope ${scope}.` });
    }
    const target = parseUri(uri);
    if (target === null) {
      return errorText({ error: "Unknown resource", detail: `Use ${scheme}me or ${scheme}TABLE/SYS_ID.` });
    }
    const caller = { subject, signal: context.signal };
    const found = target === "me" ? await reader.me(caller) : await reader.read(target.kind, target.id, caller);
    return found.ok ? recordText(found.value) : errorText(describe(found.error));
  };

  const profile: RecordResource = {
    uri: `${scheme}me`,
    name: "my_profile",
    title: "My ServiceNow profile",
    description: "Current authenticated user's profile",
    mimeType,
  };
  return {
    name: "servicenow",
    scopes: [scope],
    owns: (uri) => uri.startsWith(scheme),
    list: () => [profile],
    templates: recordKinds.map((kind) => ({
      uriTemplate: `${scheme}${kind}/{sys_id}`,
      name: kind,
      ...described[kind],
      mimeType,
    })),
    cacheHint: { ttlMs: 0, cacheScope: "private" },
    read: async (uri, context) => ({ contents: [{ uri, mimeType, text: await readText(uri, context) }] }),
  };
}

function parseUri(uri: string): "me" | { readonly kind: RecordKind; readonly id: string } | null {
  if (uri === `${scheme}me`) return "me";
  const [, name, id] = /^servicenow:\/\/([a-z_]+)\/([^/]*)$/.exec(uri) ?? [];
  const kind = recordKinds.find((each) => each === name);
  return kind === undefined || id === undefined ? null : { kind, id };
}

function recordText({ fields, selfLink }: FoundRecord): string {
  return toRecordText({ ...fields, self_link: selfLink });
}

function errorText(words: FailureWords): string {
  return toRecordText(words);
}
