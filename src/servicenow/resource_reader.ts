/** Reads single records and a user's own profile. */
import * as z from "zod";
import { failure, type Result, success } from "../lib/result.ts";
import { personFields } from "./field_access.ts";
import { askJson, type CallAs } from "./calls.ts";
import type { ServicenowFailure } from "./failure.ts";
import { recordSchema, storedValue } from "./field_values.ts";
import type { ServicenowInstance } from "./instance.ts";
import type { Caller } from "./caller.ts";
import type { FoundRecord, RecordReader } from "./port.ts";
import { parseRecordId, type RecordId } from "./record_id.ts";
import { maxReplyBytes, parseResult } from "./reply.ts";
import { tables } from "./tables.ts";
import { createTableApi, readableForm } from "./table_api.ts";

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
