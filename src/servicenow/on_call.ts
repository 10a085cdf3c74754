/** Who is on call for a group at this moment, by the instance's own schedules. */
import * as z from "zod";
import { type Result, success } from "../lib/result.ts";
import type { DeskParts } from "./desk_parts.ts";
import type { RelatedRecords } from "./desk_port.ts";
import type { ServicenowFailure } from "./failure.ts";
import { storedValue } from "./field_values.ts";
import type { Person } from "./person_cache.ts";
import type { FoundRecord } from "./find_record.ts";
import { toShownRecord } from "./shown_record.ts";
import { askJson } from "./calls.ts";

const maxPeople = 30;
const onShift = z.array(z.object({
  userId: z.string().nullish(),
  order: z.coerce.number().nullish().catch(null),
}));

/** `null` where the instance has no such API, or keeps it from the person. */
export async function readOnCall(
  { callAs, tableApi, instance }: DeskParts,
  { sysId }: FoundRecord,
  person: Person,
): Promise<Result<RelatedRecords | null, ServicenowFailure>> {
  const request = { path: "/api/now/on_call_rota/whoisoncall", query: { group_ids: sysId } };
  const parsed = await askJson(callAs, person, request, onShift);
  if (!parsed.ok) {
    return ["not_found", "rejected", "forbidden"].includes(parsed.error.reason) ? success(null) : parsed;
  }
  const order = parsed.value.toSorted((a, b) => (a.order ?? maxPeople) - (b.order ?? maxPeople));
  const ids = [...new Set(order.map(({ userId }) => userId ?? ""))].filter((id) => /^[0-9a-f]{32}$/.test(id));
  const note = "by ServiceNow's schedule at this moment, the first to call first";
  if (ids.length === 0) return success({ kind: "on_call", records: [], isCut: false, note });
  const names = ["name", "phone", "mobile_phone", "email"];
  const asked = ids.slice(0, maxPeople);
  const query = `sys_idIN${asked.join(",")}`;
  const rows = await tableApi.rows("sys_user", { query, fields: names, limit: maxPeople }, person);
  if (!rows.ok) return rows;
  const people = rows.value.rows.toSorted((a, b) =>
    asked.indexOf(storedValue(a, "sys_id")) - asked.indexOf(storedValue(b, "sys_id"))
  );
  const records = people.map((row) => toShownRecord("sys_user", row, { origin: instance.origin, names }));
  return success({ kind: "on_call", records, isCut: ids.length > maxPeople, note });
}
