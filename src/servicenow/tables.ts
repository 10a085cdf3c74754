/** The four kinds of records that are resources: where they are, and what they are called. */

/** A kind of record, by the name that URIs use. */
export type RecordKind = "incident" | "change_request" | "kb_knowledge" | "catalog";

export interface TableDefinition {
  readonly table: string;
  /** What a record number starts with; `null` when records of this kind have none. */
  readonly numberPrefix: string | null;
  /** The page of a record for users, below the instance's origin. */
  readonly pagePath: (sysId: string) => string;
}

const formPath = (table: string) => (sysId: string): string =>
  `/nav_to.do?uri=${encodeURIComponent(`${table}.do?sys_id=${sysId}`)}`;

/** Every kind by its name. */
export const tables: Readonly<Record<RecordKind, TableDefinition>> = {
  incident: { table: "incident", numberPrefix: "INC", pagePath: formPath("incident") },
  change_request: { table: "change_request", numberPrefix: "CHG", pagePath: formPath("change_request") },
  kb_knowledge: {
    table: "kb_knowledge",
    numberPrefix: "KB",
    pagePath: (sysId) => `/kb_view.do?sys_kb_id=${sysId}`,
  },
  catalog: {
    table: "sc_cat_item",
    numberPrefix: null,
    pagePath: (sysId) => `/sp?id=sc_cat_item&sys_id=${sysId}`,
  },
};

/** The names of all kinds. */
export const recordKinds: readonly [RecordKind, ...RecordKind[]] = [
  "incident",
  "change_request",
  "kb_knowledge",
  "catalog",
];
