/**
 * ServiceNow records as resources: one fixed URI and four templates. A failure of any of them is JSON content that says
 * what to do, never an exception: a read tells its reader the truth, and crashes nothing.
 */
import * as z from "zod";
import type { ResourceFamily, ToolContext } from "../mcp/mod.ts";
import type { FailureWords, ServicenowFailure } from "./failure.ts";
import type { FoundRecord, RecordReader, ServicenowRecords } from "./port.ts";
import { type RecordKind, recordKinds, tables } from "./tables.ts";
import { parseRecordId, type RecordId, recordSchema, storedValue, toRecordText } from "./field_values.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { personFields } from "./table_access.ts";
import { askJson, type CallAs, type Caller } from "./calls.ts";
import type { ServicenowInstance } from "./instance.ts";
import { maxReplyBytes, parseResult } from "./transport.ts";
import { createTableApi, readableForm } from "./table_api.ts";

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

// Reads single records and a user's own profile.

type Answer = Promise<Result<Pick<FoundRecord, "sysId" | "fields">, ServicenowFailure>>;

const catalogItem = z.record(z.string(), z.unknown());

export function createRecordReader(
  { callAs, instance }: { readonly callAs: CallAs; readonly instance: ServicenowInstance },
): RecordReader {
  const tableApi = createTableApi({ callAs, instance, maxRecordBytes: maxReplyBytes }); // shown whole

  const readTable = async (table: string, id: RecordId, caller: Caller): Answer => {
    if (id.by === "sys_id") {
      const record = await tableApi.row(table, id.value, caller);
      return record.ok ? success({ sysId: id.value, fields: record.value }) : record;
    }
    // A number may stand for several versions of an article: the newest is meant.
    const query = `number=${id.value}^ORDERBYDESCsys_updated_on`;
    const found = await tableApi.firstRow(table, { query }, caller);
    if (!found.ok) return found;
    const fields = found.value;
    return fields === undefined
      ? failure({ reason: "not_found" })
      : success({ sysId: storedValue(fields, "sys_id"), fields });
  };

  const readCatalogItem = async (sysId: string, caller: Caller): Answer => {
    const request = { path: `/api/sn_sc/servicecatalog/items/${sysId}`, notFoundStatus: 400 };
    const fields = await askJson(callAs, caller, request, catalogItem);
    return fields.ok ? success({ sysId, fields: fields.value }) : fields;
  };

  return {
    async read(kind, text, caller) {
      const id = parseRecordId(tables[kind], text);
      if (!id.ok) return id;
      const { table, pagePath } = tables[kind];
      const found =
        await (kind === "catalog" ? readCatalogItem(id.value.value, caller) : readTable(table, id.value, caller));
      if (!found.ok) return found;
      return success({ ...found.value, selfLink: instance.origin + pagePath(found.value.sysId) });
    },
    async me(caller) {
      const form = { ...readableForm, sysparm_fields: personFields.join(",") };
      let sysId = "";
      const answer = await callAs(caller, (account) => {
        sysId = account.sysId;
        const path = `/api/now/table/sys_user/${sysId}`;
        return { method: "GET", path, query: form, accept: "json", maxBytes: maxReplyBytes };
      });
      if (!answer.ok) return answer;
      const parsed = parseResult(answer.value, recordSchema);
      if (!parsed.ok) return parsed;
      // An instance that ignores `sysparm_fields` must not make this more than the profile.
      const shown = Object.entries(parsed.value).filter(([name]) => personFields.includes(name));
      const selfLink = `${instance.origin}/nav_to.do?uri=${encodeURIComponent(`sys_user.do?sys_id=${sysId}`)}`;
      return success({ sysId, fields: Object.fromEntries(shown), selfLink });
    },
  };
}
