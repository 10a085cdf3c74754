/** Reads single records and a user's own profile. */
import * as z from "zod";
import { failure, type Result, success } from "../../lib/result.ts";
import { personFields } from "../access/field_access.ts";
import type { CallAs } from "../calls.ts";
import type { ServicenowFailure } from "../failure.ts";
import { recordSchema, storedValue } from "../field_values.ts";
import type { ServicenowInstance } from "../instance.ts";
import type { Caller } from "../caller.ts";
import type { FoundRecord, RecordReader } from "../port.ts";
import { parseRecordId, type RecordId } from "../record_id.ts";
import { maxReplyBytes, parseResult } from "../reply.ts";
import { type TableDefinition, tables } from "../tables.ts";
import type { UpstreamRequest } from "../transport.ts";

/** Value and display value of each field; what references lead to is told by both, so their links are left out. */
const readableForm: Readonly<Record<string, string>> = {
  sysparm_display_value: "all",
  sysparm_exclude_reference_link: "true",
};

const catalogItem = z.record(z.string(), z.unknown());

export function createRecordReader(
  { callAs, instance }: { readonly callAs: CallAs; readonly instance: ServicenowInstance },
): RecordReader {
  const get = (path: string, query: Readonly<Record<string, string>>): UpstreamRequest => ({
    method: "GET",
    path,
    query,
    accept: "json",
    maxBytes: maxReplyBytes,
  });

  const readTable = async (
    { table, pagePath }: Pick<TableDefinition, "table" | "pagePath">,
    id: RecordId,
    caller: Caller,
    fields: readonly string[] | undefined,
  ): Promise<Result<FoundRecord, ServicenowFailure>> => {
    const wanted = fields === undefined ? {} : { sysparm_fields: [...new Set(["sys_id", ...fields])].join(",") };
    const form = { ...readableForm, ...wanted };
    const answer = await callAs(
      caller,
      id.by === "sys_id"
        ? get(`/api/now/table/${table}/${id.value}`, form)
        // A number may stand for several versions of an article: the newest is meant.
        : get(`/api/now/table/${table}`, {
          ...form,
          sysparm_query: `number=${id.value}^ORDERBYDESCsys_updated_on`,
          sysparm_limit: "1",
        }),
    );
    if (!answer.ok) return answer;
    const parsed = id.by === "sys_id"
      ? parseResult(answer.value, recordSchema)
      : parseResult(answer.value, z.array(recordSchema).transform(([first]) => first));
    if (!parsed.ok) return parsed;
    if (parsed.value === undefined) return failure({ reason: "not_found" });
    const sysId = id.by === "sys_id" ? id.value : storedValue(parsed.value, "sys_id");
    return success({ sysId, fields: parsed.value, selfLink: instance.origin + pagePath(sysId) });
  };

  const readCatalogItem = async (sysId: string, caller: Caller): Promise<Result<FoundRecord, ServicenowFailure>> => {
    const path = `/api/sn_sc/servicecatalog/items/${sysId}`;
    const answer = await callAs(caller, { ...get(path, {}), notFoundStatus: 400 });
    if (!answer.ok) return answer;
    const parsed = parseResult(answer.value, catalogItem);
    if (!parsed.ok) return parsed;
    return success({ sysId, fields: parsed.value, selfLink: instance.origin + tables.catalog.pagePath(sysId) });
  };

  const read: RecordReader["read"] = (kind, id, caller, { fields } = {}) => {
    const parsed = parseRecordId(tables[kind], id);
    if (!parsed.ok) return Promise.resolve(parsed);
    // Columns of this record only: a dot would walk to records of other tables.
    const strange = fields?.find((name) => !/^[a-z][a-z0-9_]{0,79}$/.test(name));
    if (strange !== undefined) {
      return Promise.resolve(
        failure({ reason: "invalid_input", message: `${strange.slice(0, 80)} is not a field name` }),
      );
    }
    return kind === "catalog" && fields === undefined
      ? readCatalogItem(parsed.value.value, caller)
      : readTable(tables[kind], parsed.value, caller, fields);
  };

  return {
    read,
    async me(caller) {
      const form = { ...readableForm, sysparm_fields: personFields.join(",") };
      let sysId = "";
      const answer = await callAs(caller, (account) => {
        sysId = account.sysId;
        return get(`/api/now/table/sys_user/${sysId}`, form);
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
