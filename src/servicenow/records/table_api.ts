/** The Table API: rows of one table, read and written in a person's own name. */
import * as z from "zod";
import { failure, type Result, success } from "../../lib/result.ts";
import { askJson, type CallAs } from "../calls.ts";
import type { ServicenowFailure } from "../failure.ts";
import { recordSchema, storedValue } from "../field_values.ts";
import type { ServicenowInstance } from "../instance.ts";
import type { Caller } from "../caller.ts";
import type { RecordFields } from "../port.ts";
import { isStoredSysId } from "../record_id.ts";
import { maxReplyBytes, parseResult } from "../reply.ts";
import { nextOffset } from "./next_offset.ts";

/** Which rows, in what form. Without `fields`, all that the person may see. */
interface RowsRequest {
  /** An encoded query of this server's own making. */
  readonly query: string;
  readonly fields?: readonly string[];
  readonly limit: number;
  readonly offset?: number;
  /** Stored values alone, for what is not shown. */
  readonly stored?: boolean;
}

/** Rows that the person may see, and where the next page starts. */
interface Rows {
  readonly rows: readonly RecordFields[];
  readonly nextOffset: number | null;
}

type Answer<T> = Promise<Result<T, ServicenowFailure>>;

export interface TableApi {
  rows(table: string, request: RowsRequest, caller: Caller): Answer<Rows>;
  row(table: string, sysId: string, caller: Caller, fields?: readonly string[]): Answer<RecordFields>;
  insert(table: string, values: Readonly<Record<string, string>>, caller: Caller): Answer<RecordFields>;
  update(table: string, sysId: string, values: Readonly<Record<string, string>>, caller: Caller): Answer<RecordFields>;
}

/** Value and display value of each field; what references lead to is told by both, so their links are left out. */
export const readableForm: Readonly<Record<string, string>> = {
  sysparm_display_value: "all",
  sysparm_exclude_reference_link: "true",
};

export function createTableApi(
  { callAs, instance }: { readonly callAs: CallAs; readonly instance: ServicenowInstance },
): TableApi {
  const fieldsOf = (fields: readonly string[] | undefined): Record<string, string> =>
    fields === undefined ? {} : { sysparm_fields: [...new Set(["sys_id", ...fields])].join(",") };
  const write = async (
    method: "POST" | "PATCH",
    path: string,
    values: Readonly<Record<string, string>>,
    caller: Caller,
  ): Answer<RecordFields> => {
    const body = { type: "application/json", content: JSON.stringify(values) };
    return await askJson(callAs, caller, { method, path, query: readableForm, body }, recordSchema);
  };
  return {
    async rows(table, { query, fields, limit, offset = 0, stored = false }, caller) {
      const answer = await callAs(caller, {
        method: "GET",
        accept: "json",
        maxBytes: maxReplyBytes,
        path: `/api/now/table/${table}`,
        query: {
          ...readableForm,
          ...(stored ? { sysparm_display_value: "false" } : {}),
          ...fieldsOf(fields),
          sysparm_query: query,
          sysparm_limit: String(limit),
          sysparm_offset: String(offset),
        },
      });
      if (!answer.ok) return answer;
      const parsed = parseResult(answer.value, z.array(recordSchema));
      if (!parsed.ok) return parsed;
      const sysIds = parsed.value.map((row) => storedValue(row, "sys_id")).filter((sysId) => sysId !== "");
      if (!sysIds.every(isStoredSysId)) return failure({ reason: "unavailable", because: "bad_reply" });
      const link = answer.value.headers.get("link");
      return success({ rows: parsed.value, nextOffset: nextOffset(link, instance, offset) });
    },
    row(table, sysId, caller, fields) {
      const query = { ...readableForm, ...fieldsOf(fields) };
      return askJson(callAs, caller, { path: `/api/now/table/${table}/${sysId}`, query }, recordSchema);
    },
    insert: (table, values, caller) => write("POST", `/api/now/table/${table}`, values, caller),
    update: (table, sysId, values, caller) => write("PATCH", `/api/now/table/${table}/${sysId}`, values, caller),
  };
}
