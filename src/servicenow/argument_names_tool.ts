/** What callers of the ServiceNow tools write for their parameters. */
import { type Meaning, otherNames } from "../mcp/mod.ts";

type Meanings = Readonly<Record<string, Meaning>>;

const record = { id: "number sys_id record_id record_number ticket", table: "table_name" };
const found = {
  table: "table_name",
  words: "text query search keywords q",
  where: "filter filters conditions condition",
};

export const searchNames: Meanings = otherNames({
  ...found,
  fields: "columns field_names",
  order_by: "sort sort_by",
  limit: "max_results max top page_size",
});
export const countNames: Meanings = otherNames({ ...found, group_by: "by group" });
export const recordNames: Meanings = otherNames({ ...record, fields: "columns field_names", include: "with expand" });
export const describeNames: Meanings = otherNames({ table: "table_name", field: "column" });
export const createNames: Meanings = otherNames({ table: "table_name", values: "data fields record" });
export const updateNames: Meanings = otherNames({ ...record, values: "data fields changes", if_version: "version" });
export const fileNames: Meanings = otherNames({ ...record, filename: "path file file_path filepath" });
export const orderNames: Meanings = otherNames({ item: "item_name catalog_item", answers: "variables values" });

export const noteNames: Meanings = {
  ...otherNames({ ...record, text: "note comment message body content" }),
  audience: {
    to: "audience",
    values: { work_notes: "team", internal: "team", comments: "caller", customer: "caller" },
  },
  work_notes: { to: "text", sets: { audience: "team" } },
};

export const approveNames: Meanings = {
  ...otherNames({ id: record.id, comment: "comments reason" }),
  decision: { to: "decision", values: { approved: "approve", rejected: "reject" } },
};
