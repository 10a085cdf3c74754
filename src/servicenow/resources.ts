/**
 * ServiceNow records as resources: one fixed URI and four templates. A failure of any of them is JSON content that says
 * what to do, never an exception: a read tells its reader the truth, and crashes nothing.
 */
import type { ResourceFamily } from "../mcp/resource.ts";
import type { ToolContext } from "../mcp/tool.ts";
import type { FailureWords } from "./failure.ts";
import type { FoundRecord, ServicenowRecords } from "./port.ts";
import { type RecordKind, recordKinds } from "./tables.ts";
import { toRecordText } from "./record_text.ts";

const scheme = "servicenow://";
const scope = "servicenow:read";
const mimeType = "application/json";

const described: Readonly<Record<RecordKind, { readonly title: string; readonly description: string }>> = {
  incident: { title: "Incident", description: "Incident record by sys_id" },
  change_request: { title: "Change request", description: "Change request record by sys_id" },
  kb_knowledge: { title: "Knowledge article", description: "Knowledge base article by sys_id" },
  catalog: { title: "Catalog item", description: "Service catalog item by sys_id" },
};

export function servicenowResources(servicenow: Pick<ServicenowRecords, "reader" | "describe">): ResourceFamily {
  const { reader, describe } = servicenow;

  const readText = async (uri: string, { principal: { subject, scopes }, signal }: ToolContext): Promise<string> => {
    if (!scopes.has(scope)) {
      return errorText({ error: "Insufficient permissions", detail: `The access token lacks the scope ${scope}.` });
    }
    const target = parseUri(uri);
    if (target === null) {
      return errorText({ error: "Unknown resource", detail: `Use ${scheme}me or ${scheme}TABLE/SYS_ID.` });
    }
    const caller = { subject, signal };
    const found = target === "me" ? await reader.me(caller) : await reader.read(target.kind, target.id, caller);
    return found.ok ? recordText(found.value) : errorText(describe(found.error));
  };

  return {
    name: "servicenow",
    scopes: [scope],
    owns: (uri) => uri.startsWith(scheme),
    list: () => [{
      uri: `${scheme}me`,
      name: "my_profile",
      title: "My ServiceNow profile",
      description: "Current authenticated user's profile",
      mimeType,
    }],
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
