/** Where callers can put text: each parameter of each tool, by what a text in it is aimed at. */
import type { Attack } from "./attack.ts";
import type { Desk } from "../desk/desk_place.ts";

type Place = readonly [tool: string, input: (text: string, desk: Desk) => Readonly<Record<string, unknown>>];

/** An incident of the caller's own. */
export const ownIncident = "INC0010002";

const incident = { table: "incident" };
const search = "servicenow_search";
const json = (name: string, value: string): string => JSON.stringify({ [name]: value });

const values: readonly Place[] = [
  [search, (text) => ({ ...incident, words: text })],
  [search, (text) => ({ table: "kb_knowledge", words: text })],
  [search, (text) => ({ table: "kb_knowledge", words: text, order_by: "number" })],
  [search, (text) => ({ table: "sys_user", words: text })],
  [search, (text) => ({ table: "task", words: text })],
  [search, (text) => ({ ...incident, where: `short_description=${text}` })],
  [search, (text) => ({ ...incident, where: `description contains ${text}` })],
  [search, (text) => ({ ...incident, where: `description contains "${text}"` })],
  [search, (text) => ({ ...incident, where: `number starts with ${text}` })],
  [search, (text) => ({ ...incident, where: `number in INC0010002, ${text}` })],
  [search, (text) => ({ ...incident, where: `description does not contain mail or ${text}` })],
  [search, (text) => ({ ...incident, where: `caller_id=${text}` })],
  [search, (text) => ({ ...incident, where: `caller_id contains ${text}` })],
  [search, (text) => ({ ...incident, where: `caller_id.department=${text}` })],
  [search, (text) => ({ ...incident, where: `state=${text}` })],
  [search, (text) => ({ ...incident, where: `category!=New|${text}` })],
  [search, (text) => ({ ...incident, where: `opened_at>${text}` })],
  [search, (text) => ({ ...incident, where: `active=${text}` })],
  [search, (text) => ({ ...incident, where: `reopen_count<=${text}` })],
  [search, (text) => ({ ...incident, where: `number=${text}` })],
  [search, (text) => ({ ...incident, where: `assigned_to=${text}` })],
  [search, (text) => ({ ...incident, cursor: text })],
  ["servicenow_count", (text) => ({ ...incident, words: text })],
  ["servicenow_count", (text) => ({ ...incident, where: `assignment_group=${text}` })],
  ["servicenow_get_record", (text) => ({ table: "sys_user", id: text })],
  ["servicenow_get_record", (text) => ({ table: "cmdb_ci", id: text })],
  ["servicenow_get_record", (text) => ({ id: ownIncident, include: text })],
  ["servicenow_describe", (text) => ({ item: text })],
  ["servicenow_fetch_attachment", (text) => ({ id: ownIncident, name: text })],
  ["servicenow_update", (text) => ({ id: ownIncident, values: json("urgency", text) })],
  ["servicenow_update", (text) => ({ id: ownIncident, values: json("cmdb_ci", text) })],
  ["servicenow_update", (text) => ({ id: ownIncident, values: json("watch_list", text) })],
  ["servicenow_update", (text) => ({ id: ownIncident, values: json("due_date", text) })],
  ["servicenow_update", (text) => ({ id: ownIncident, values: "urgency=1", if_version: text })],
  ["servicenow_order", (text) => ({ item: text })],
  ["servicenow_order", (text) => ({ item: "Mobile phone", answers: json("model", text) })],
  ["servicenow_order", (text) => ({ item: "VPN access", answers: json("person", text) })],
  ["servicenow_order", (text) => ({ item: "Standard Laptop", answers: json("requested_for", text) })],
];

const fields: readonly Place[] = [
  [search, (text) => ({ ...incident, where: `${text}=1` })],
  [search, (text) => ({ ...incident, where: `${text} is not empty` })],
  [search, (text) => ({ ...incident, order_by: text })],
  [search, (text) => ({ ...incident, order_by: `-${text}` })],
  [search, (text) => ({ ...incident, fields: text })],
  [search, (text) => ({ table: "sysapproval_approver", fields: text })],
  [search, (text) => ({ table: "sys_user", where: `${text} contains S` })],
  ["servicenow_count", (text) => ({ ...incident, group_by: text })],
  ["servicenow_get_record", (text) => ({ id: ownIncident, fields: text })],
  ["servicenow_get_record", (text) => ({ id: "me", fields: text })],
  ["servicenow_describe", (text) => ({ ...incident, field: text })],
  ["servicenow_describe", (text) => ({ table: "sys_user", field: text })],
  ["servicenow_update", (text) => ({ id: ownIncident, values: json(text, "1") })],
  ["servicenow_update", (text) => ({ id: ownIncident, values: `${text}=1` })],
  ["servicenow_order", (text) => ({ item: "Mobile phone", answers: json(text, "1") })],
];

const tables: readonly Place[] = [
  [search, (text) => ({ table: text })],
  [search, (text) => ({ table: "task", where: `sys_class_name=${text}` })],
  ["servicenow_count", (text) => ({ table: text })],
  ["servicenow_get_record", (text) => ({ table: text, id: "1c".repeat(15) + "01" })],
  [
    "servicenow_get_record",
    (text, { instance }) => ({ id: `${instance.origin}/${text}.do?sys_id=${"1c".repeat(16)}` }),
  ],
  ["servicenow_describe", (text) => ({ table: text })],
  ["servicenow_create", (text) => ({ table: text, values: "short_description=x\nname=x" })],
  ["servicenow_update", (text) => ({ table: text, id: "1c".repeat(15) + "01", values: "short_description=x" })],
  ["servicenow_add_note", (text) => ({ table: text, id: "1c".repeat(15) + "01", audience: "caller", text: "x" })],
  ["servicenow_fetch_attachment", (text) => ({ table: text, id: "1c".repeat(15) + "01" })],
];

const records: readonly Place[] = [
  ["servicenow_get_record", (text) => ({ id: text })],
  ["servicenow_get_record", (text) => ({ ...incident, id: text, include: "journal,attachments,tasks,ci,slas" })],
  ["servicenow_get_record", (text) => ({ table: "task", id: text })],
  ["servicenow_fetch_attachment", (text) => ({ ...incident, id: text })],
  ["servicenow_create", (text) => ({ table: "problem", from: text })],
  ["servicenow_update", (text) => ({ ...incident, id: text, values: "short_description=taken over" })],
  ["servicenow_update", (text) => ({ table: "task", id: text, values: "short_description=taken over" })],
  ["servicenow_add_note", (text) => ({ ...incident, id: text, audience: "caller", text: "x" })],
  ["servicenow_approve", (text) => ({ id: text, decision: "approve" })],
  ["servicenow_order", (text) => ({ item: text })],
  ["servicenow_attach", (text) => ({ ...incident, id: text, filename: "a.txt" })],
];

const links: readonly Place[] = records.flatMap(([tool, input]): readonly Place[] => [
  [tool, (text, desk) => input(`${desk.instance.origin}${text}`, desk)],
]);

const files: readonly Place[] = [
  ["servicenow_attach", (text) => ({ id: ownIncident, filename: text })],
  ["servicenow_fetch_attachment", (text) => ({ id: ownIncident, name: text })],
  ["servicenow_fetch_attachment", (text) => ({ id: ownIncident, filename: text })],
];

export const places: Readonly<Record<Attack["aim"], readonly Place[]>> = {
  query: values,
  field: fields,
  table: tables,
  record: records,
  path: links,
  file: files,
};
