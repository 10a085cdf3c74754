/** Searches one kind of record, a page at a time. */
import * as z from "zod";
import { failure, type Result, success } from "../lib/result.ts";
import type { CallAs } from "./calls.ts";
import { recordSchema, storedValue } from "./field_values.ts";
import type { ServicenowInstance } from "./instance.ts";
import { type FoundRecord, maxSearchResults, type Search } from "./port.ts";
import { readableForm } from "./records.ts";
import { maxReplyBytes, parseResult } from "./reply.ts";
import { buildQuery } from "./search_query.ts";
import { type TableDefinition, tables } from "./tables.ts";

export function createSearch(
  { callAs, instance }: { readonly callAs: CallAs; readonly instance: ServicenowInstance },
): Search {
  return async (kind, request, caller) => {
    const table = tables[kind];
    const asked = checkFields(table, request.fields);
    if (!asked.ok) return failure({ reason: "invalid_input", message: asked.error });
    const query = buildQuery(table, request);
    if (!query.ok) return failure({ reason: "invalid_input", message: query.error });
    const limit = Math.min(request.limit, maxSearchResults);
    const answer = await callAs(caller, {
      method: "GET",
      path: `/api/now/table/${table.table}`,
      query: {
        ...readableForm,
        sysparm_query: query.value,
        sysparm_fields: asked.value.join(","),
        sysparm_limit: String(limit),
        sysparm_offset: String(request.offset),
      },
      accept: "json",
      maxBytes: maxReplyBytes,
    });
    if (!answer.ok) return answer;
    const parsed = parseResult(answer.value, z.array(recordSchema));
    if (!parsed.ok) return parsed;
    const records = parsed.value.map((fields): FoundRecord => {
      const sysId = storedValue(fields, "sys_id");
      return { sysId, fields, selfLink: instance.origin + table.pagePath(sysId) };
    });
    const total = toCount(answer.value.headers.get("x-total-count"));
    return success({
      records,
      total,
      nextOffset: nextOffset(answer.value.headers.get("link"), instance, request.offset),
    });
  };
}

/** The fields to ask for: each known for the kind, the sys_id always among them. */
function checkFields(
  table: TableDefinition,
  fields: readonly string[] | undefined,
): Result<readonly string[], string> {
  if (fields === undefined) return success(table.summaryFields);
  const known = [...table.summaryFields, ...table.furtherFields];
  const unknown = fields.find((field) => !known.includes(field));
  if (unknown !== undefined) return failure(`${table.kind} has no readable field ${unknown}; use ${known.join(", ")}`);
  return success([...new Set(["sys_id", ...fields])]);
}

/**
 * Where `rel="next"` leads (RFC 8288 §3). Only the offset is taken from it: the address is never followed, and has to
 * be the instance's own.
 */
export function nextOffset(link: string | null, { origin }: ServicenowInstance, offset: number): number | null {
  for (const part of (link ?? "").split(/,\s*(?=<)/)) {
    const [, target = ""] = /^\s*<([^>]*)>\s*;\s*rel="?next"?\s*$/.exec(part) ?? [];
    const url = URL.parse(target, origin);
    if (target === "" || url === null || url.origin !== origin) continue;
    const next = toCount(url.searchParams.get("sysparm_offset"));
    if (next !== null && next > offset) return next;
  }
  return null;
}

function toCount(text: string | null): number | null {
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : null;
}
