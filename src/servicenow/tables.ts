/** The four kinds of records that agents get to see: where they are, what they are called, and which fields count. */

/** A kind of record, by the name that URIs and tools use. */
export type RecordKind = "incident" | "change_request" | "kb_knowledge" | "catalog";

/** What a search may filter by. Each kind maps those that it has to its own columns. */
export type FilterName =
  | "number"
  | "state"
  | "priority"
  | "category"
  | "active"
  | "assigned_to"
  | "assignment_group"
  | "caller";

export interface TableDefinition {
  readonly kind: RecordKind;
  readonly table: string;
  /** What a record number starts with; `null` when records of this kind have none. */
  readonly numberPrefix: string | null;
  /** Fields that free text is looked for in. */
  readonly textFields: readonly [string, ...string[]];
  readonly filters: Readonly<Partial<Record<FilterName, string>>>;
  /** What a search answers with; results can be ordered by these. */
  readonly summaryFields: readonly string[];
  /** What a caller may ask for besides. */
  readonly furtherFields: readonly string[];
  /** The page of a record for users, below the instance's origin. */
  readonly pagePath: (sysId: string) => string;
}

const formPath = (table: string) => (sysId: string): string =>
  `/nav_to.do?uri=${encodeURIComponent(`${table}.do?sys_id=${sysId}`)}`;

/** Columns of the table `task`, which incidents and changes extend. */
const taskFilters = {
  number: "number",
  state: "state",
  priority: "priority",
  category: "category",
  active: "active",
  assigned_to: "assigned_to",
  assignment_group: "assignment_group",
} as const;

/** Every kind by its name. */
export const tables: Readonly<Record<RecordKind, TableDefinition>> = {
  incident: {
    kind: "incident",
    table: "incident",
    numberPrefix: "INC",
    textFields: ["short_description", "description"],
    filters: { ...taskFilters, caller: "caller_id" },
    summaryFields: [
      "sys_id",
      "number",
      "short_description",
      "state",
      "priority",
      "category",
      "caller_id",
      "assigned_to",
      "assignment_group",
      "opened_at",
      "sys_updated_on",
      "active",
    ],
    furtherFields: [
      "description",
      "comments",
      "work_notes",
      "urgency",
      "impact",
      "severity",
      "subcategory",
      "cmdb_ci",
      "business_service",
      "opened_by",
      "close_code",
      "close_notes",
      "resolved_at",
      "resolved_by",
      "closed_at",
      "parent_incident",
      "problem_id",
      "sys_created_on",
    ],
    pagePath: formPath("incident"),
  },
  change_request: {
    kind: "change_request",
    table: "change_request",
    numberPrefix: "CHG",
    textFields: ["short_description", "description"],
    filters: { ...taskFilters, caller: "requested_by" },
    summaryFields: [
      "sys_id",
      "number",
      "short_description",
      "type",
      "state",
      "risk",
      "impact",
      "priority",
      "requested_by",
      "assigned_to",
      "assignment_group",
      "start_date",
      "end_date",
      "sys_updated_on",
      "active",
    ],
    furtherFields: [
      "description",
      "justification",
      "implementation_plan",
      "backout_plan",
      "test_plan",
      "risk_impact_analysis",
      "category",
      "approval",
      "cmdb_ci",
      "close_code",
      "close_notes",
      "comments",
      "work_notes",
      "sys_created_on",
    ],
    pagePath: formPath("change_request"),
  },
  kb_knowledge: {
    kind: "kb_knowledge",
    table: "kb_knowledge",
    numberPrefix: "KB",
    textFields: ["short_description", "text"],
    filters: { number: "number", state: "workflow_state", category: "kb_category", active: "active", caller: "author" },
    summaryFields: [
      "sys_id",
      "number",
      "short_description",
      "workflow_state",
      "kb_knowledge_base",
      "kb_category",
      "author",
      "published",
      "sys_updated_on",
      "active",
    ],
    furtherFields: ["text", "valid_to", "article_type", "version", "meta", "sys_created_on"],
    pagePath: (sysId) => `/kb_view.do?sys_kb_id=${sysId}`,
  },
  catalog: {
    kind: "catalog",
    table: "sc_cat_item",
    numberPrefix: null,
    textFields: ["name", "short_description"],
    filters: { category: "category", active: "active" },
    summaryFields: ["sys_id", "name", "short_description", "category", "price", "sys_updated_on", "active"],
    furtherFields: ["description", "type", "availability", "delivery_time", "sys_created_on"],
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

/** What a user's own profile shows: nothing of how the account is protected. */
export const profileFields: readonly string[] = [
  "sys_id",
  "user_name",
  "name",
  "first_name",
  "last_name",
  "email",
  "title",
  "department",
  "company",
  "location",
  "manager",
  "phone",
  "time_zone",
  "preferred_language",
  "active",
];
