/** Tables of a service desk: what people call them, what their numbers start with, and which fields tell them apart. */
import { mayReadOnIn } from "../lib/suggestible.ts";
import { failure, type Result, success } from "../lib/result.ts";

/** Lines of `name: value`, as the lists of this part are written. */
export function namedLines(text: string): readonly (readonly [name: string, value: string])[] {
  return text.trim().split("\n").map((line) => {
    const [name = "", value = ""] = line.trim().split(": ");
    return [name, value];
  });
}

/**
 * A line each: `table: label; other names; prefix of its numbers, or fields of its name; where words are looked for; what
 * a list shows`. What has a number has a title as well: words are looked for in both, and lists show them. Without the
 * last, a list shows where words are looked for. All that has a number but articles is a task.
 */
const tables = `
  incident: Incident; ; INC; description cmdb_ci.name; state priority caller_id assignment_group assigned_to sys_updated_on
  problem: Problem; ; PRB; description cmdb_ci.name; state assignment_group assigned_to priority cmdb_ci sys_updated_on
  problem_task: Problem task; ; PTASK; description cmdb_ci.name; state assignment_group assigned_to problem sys_updated_on
  change_request: Change request; change; CHG; description cmdb_ci.name; type state assignment_group assigned_to risk cmdb_ci start_date end_date sys_updated_on
  change_task: Change task; ; CTASK; description cmdb_ci.name; state assignment_group assigned_to change_request sys_updated_on
  sc_request: Request; request; REQ; description; request_state stage approval requested_for opened_at sys_updated_on
  sc_req_item: Requested item; requested_item ritm; RITM; description cat_item.name; cat_item request stage state assignment_group assigned_to approval sys_updated_on
  sc_task: Catalog task; catalog_task; SCTASK; description; state assignment_group assigned_to request_item sys_updated_on
  task: Task of any kind; ; TASK; description; sys_class_name priority state assignment_group assigned_to sys_updated_on
  sysapproval_approver: Approval; approval; sysapproval approver; sysapproval.number sysapproval.short_description; sysapproval sysapproval.short_description state approver sys_created_on
  kb_knowledge: Knowledge article; knowledge article kb; KB; text; workflow_state kb_knowledge_base author published sys_updated_on
  kb_knowledge_base: Knowledge base; ; title; title description; title description owner
  kb_category: Knowledge category; ; label; label; label parent_id
  sc_cat_item: Catalog item; catalog catalog_item; name; name short_description; name short_description category price active
  sc_category: Catalog category; ; title; title; title parent
  sc_catalog: Service catalog; ; title; title
  cmdb_ci: Configuration item; ci configuration_item; name; name short_description asset_tag serial_number; name sys_class_name operational_status support_group owned_by location
  cmdb_rel_ci: Relation of configuration items; ; parent type child; parent.name child.name; parent parent.sys_class_name type child child.sys_class_name
  task_sla: SLA of a task; sla; task sla; task.number sla.name; task task.short_description task.assigned_to sla stage has_breached percentage planned_end_time
  sys_user: Person; user person people; name; name user_name email title; name user_name email title department manager active
  sys_user_group: Group; group; name; name description; name description manager email
  sys_user_grmember: Member of a group; group_member member; user group; user.name group.name; user group
  cmn_rota_member: Member of an on-call rota; on_call rota; member roster; member.name roster.rota.group.name; member roster order from to
  core_company: Company; ; name; name
  cmn_department: Department; ; name; name; company
  cmn_location: Location; ; name; name; city country
`;
const nameSeparators: Readonly<Record<string, string>> = { sysapproval_approver: ", approver ", cmdb_rel_ci: " " };

export const knownTables = namedLines(tables).map(([name, described]) => {
  const [label = "", aliases = "", named = "", searched = "", listed = searched] = described.split("; ");
  const isNumbered = /^[A-Z]+$/.test(named);
  const title = isNumbered ? ["number", "short_description"] : [];
  return {
    ...{ name, label },
    /** What else agents call it. */
    aliases: namesIn(aliases),
    /** Of the numbers of its records; empty where they have names. */
    numberPrefix: isNumbered ? named : "",
    /** Tables that it extends, nearest first. */
    parents: isNumbered && name !== "task" && name !== "kb_knowledge" ? ["task"] : [],
    /** Fields in which words are looked for. */
    get textFields(): readonly string[] {
      return withoutKept([...title, ...namesIn(searched)]);
    },
    /** What a list shows of a record. */
    get summaryFields(): readonly string[] {
      return withoutKept([...title, ...namesIn(listed)]);
    },
    /** What the name of a record without a number is made of, and what stands between. */
    nameFields: isNumbered ? [] : namesIn(named),
    nameSeparator: nameSeparators[name] ?? ": ",
  };
});

/** `undefined` for an absent or empty parameter: some platforms send "" for what a user left out. */
export function given(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === "" ? undefined : text.trim();
}

/** A parameter with commas, semicolons or lines as a list, without empty entries; `undefined` when it is absent or empty. */
export function listOf(text: string | undefined): readonly string[] | undefined {
  return given(text)?.split(/[,;\n]/).map((name) => name.trim()).filter((name) => name !== "");
}

/** Names with blanks between them. */
export function namesIn(text: string): readonly string[] {
  return text.split(" ").filter((name) => name !== "");
}

const byName = new Map(knownTables.map((table) => [table.name, table]));
const byAlias: ReadonlyMap<string, string> = new Map(
  knownTables.flatMap(({ name, label, aliases }) =>
    [label.toLowerCase().replaceAll(" ", "_"), ...aliases].flatMap((alias) =>
      [[alias, name], [`${alias}s`, name]] as const
    )
  ),
);

export function knownTable(name: string): typeof knownTables[number] | undefined {
  return byName.get(name) ?? (name.startsWith("cmdb_ci_") ? byName.get("cmdb_ci") : undefined);
}

/** The fields that a record's name is made of. */
export function namingFields(table: string): readonly string[] {
  const { nameFields = [] } = knownTable(table) ?? {};
  return nameFields.length === 0 ? ["name"] : nameFields;
}

/** The table that a caller means: its own name, its label, or what people call it. */
export function tableNameOf(text: string): string {
  const name = text.trim().toLowerCase().replaceAll(/[ -]+/g, "_");
  if (byName.has(name)) return name;
  return byAlias.get(name) ?? (byName.has(name.replace(/s$/, "")) ? name.replace(/s$/, "") : name);
}

/** What names a record, without the signs and blanks with which prose writes numbers: `#INC 0010001.` */
export function plainId(id: string): string {
  return id.trim().replace(/^#\s*|(?<![.,;:!?])[.,;:!?]+$/g, "").replace(/^([A-Za-z]{2,10})[\s-](?=\d+$)/, "$1");
}

/** The table of the record that a link leads to, of any instance, or that a resource is; `undefined` where none is named. */
export function tableOfLink(text: string): string | undefined {
  return /^servicenow:\/\/([a-z_]+)\/\w+$/.exec(text)?.[1] ?? recordOfLink(text)?.table;
}

/** What `/incident.do?sys_id=…` leads to, the same inside `nav_to.do?uri=…`, `/now/nav/ui/…`, and an article's page. */
export function recordOfLink(text: string) {
  const url = URL.parse(text);
  if (url === null) return null;
  const inner = (url.searchParams.get("uri") ?? url.pathname + url.search).replaceAll("%3F", "?")
    .replaceAll("%3D", "=").replaceAll("%26", "&");
  const [, article] = /(?:kb_view\.do|kb_article).*[?&](?:sys_kb_id|sys_id)=([0-9a-f]{32})/.exec(inner) ?? [];
  if (article !== undefined) return { table: "kb_knowledge", by: "sys_id", value: article } as const;
  const [, number] = /[?&]sysparm_article=(KB\d{4,12})/.exec(inner) ?? [];
  if (number !== undefined) return { table: "kb_knowledge", by: "number", value: number } as const;
  const [, item] = /[?&]id=sc_cat_item\b.*[?&]?sys_id=([0-9a-f]{32})/.exec(inner) ?? [];
  if (item !== undefined) return { table: "sc_cat_item", by: "sys_id", value: item } as const;
  const [, table, sysId] = /([a-z][a-z0-9_]{1,79})\.do\?(?:.*&)?sys_id=([0-9a-f]{32})/.exec(inner) ??
    /\/record\/([a-z][a-z0-9_]{1,79})\/([0-9a-f]{32})/.exec(inner) ?? [];
  return table === undefined || sysId === undefined ? null : { table, by: "sys_id", value: sysId } as const;
}

/** The table whose numbers start so; any other number is a task's. */
export function tableOfNumber(number: string): string {
  const [, prefix = ""] = /^([A-Z]+)\d/.exec(number.toUpperCase()) ?? [];
  return prefix === "" ? "task" : knownTables.find(({ numberPrefix }) => numberPrefix === prefix)?.name ?? "task";
}

/** Of a number in the base system. */
const usualDigits = 7;

/** The numbers that a text may mean: `INC10016` is INC0010016 too, and so is `10016` of an incident. */
export function numbersOf(text: string, table: string): readonly string[] {
  const prefix = table === "task" ? "" : knownTable(table)?.numberPrefix ?? "";
  const number = prefix !== "" && /^\d{3,9}$/.test(text) ? prefix + text : text;
  return [...new Set([number, number.replace(/(?<=^[a-z]+)\d+$/i, (digits) => digits.padStart(usualDigits, "0"))])];
}

const platformTablesOffered = namesIn(
  "sys_user sys_user_group sys_user_grmember sysapproval_approver sysapproval_group",
);

const platformPrefix =
  /^(sys|v_|oauth|ecc_|wf_|sp_|ldap_|saml|sso_|digest_|x509_|clone_|ha_|db_|discovery_|mid_|cert_)/;
const refusedWord =
  /credential|passw|secret|certificate|encrypt|multifactor|private_key|api_key|(^|_)(roles?|acls?|tokens?|scripts?|sessions?|cookies?|mfa)(_|$)/;

/**
 * Tables that no setting opens: roles, credentials, tokens, scripts and the platform's own configuration. A table whose
 * name begins with `sys` or `v_` is the platform's, but for people, groups, their members and approvals.
 */
export function isRefusedTable(table: string): boolean {
  return !/^[a-z][a-z0-9_]{1,79}$/.test(table) ||
    (!platformTablesOffered.includes(table) && (platformPrefix.test(table) || refusedWord.test(table)));
}

/** What `SERVICENOW_TABLES` is when it is not set: the tables of IT service management. */
export const defaultTables = namesIn(
  "incident problem problem_task change_request change_task sc_request sc_req_item sc_task sc_cat_item " +
    "sysapproval_approver kb_knowledge cmdb_ci cmdb_ci_* cmdb_rel_ci task_sla cmn_rota_member",
);

/** Read to name what a record refers to, whatever the setting says. */
export const lookupTables = namesIn(
  "sys_user sys_user_group sys_user_grmember core_company cmn_department cmn_location " +
    "kb_knowledge_base kb_category sc_category sc_catalog",
);

/** Parses the setting: names of tables, or the start of some followed by `*`; `*` alone is every table not refused. */
export function parseTableList(text: string): Result<readonly string[], string> {
  const items = text.split(",").map((item) => item.trim()).filter((item) => item !== "");
  if (items.length === 0) return failure("must name at least one table, such as incident,problem, or be *");
  for (const item of items) {
    if (item === "*") continue;
    if (!/^[a-z][a-z0-9_]{1,79}\*?$/.test(item)) {
      return failure("must be names of tables such as incident,change_request, or *");
    }
    if (isRefusedTable(item.replace("*", "")) || lookupTables.includes(item)) {
      return failure(`must not name ${item}: tables of people, roles, credentials and scripts are never opened`);
    }
  }
  return success(items);
}

/**
 * All names for a table's records, its own first: what people call it, its parent tables, and the tables that extend it, each in
 * every form that {@link tableNameOf} reads. `cmdb_ci_*` is every class of configuration items.
 */
export function relatedTables(name: string): readonly string[] {
  const extending = knownTables.filter((each) => each.parents.includes(name)).map((each) => each.name);
  const group = name === "cmdb_ci" ? ["cmdb_ci_*"] : name.startsWith("cmdb_ci_") ? ["cmdb_ci"] : [];
  const tables = [name, ...knownTable(name)?.parents ?? [], ...group, ...extending];
  const aliases = [...byAlias].flatMap(([alias, table]) => tables.includes(table) ? alias : []);
  const names = [...tables, ...tables.map((table) => `${table}s`), ...aliases];
  return [...new Set(["_", " ", "-"].flatMap((sign) => names.map((each) => each.replaceAll("_", sign))))];
}

/** Whether a rule about calls keeps the table, by any of its names, from a call about another one. */
export function isKept(table: string): boolean {
  return relatedTables(table).some((name) => !mayReadOnIn(name));
}

/** Where the references lead that the fields above go through; any other leads to the table of its name. */
const targets: Readonly<Record<string, string>> = {
  ...{ sysapproval: "task", parent: "cmdb_ci", child: "cmdb_ci", user: "sys_user", member: "sys_user" },
  ...{ group: "sys_user_group", cat_item: "sc_cat_item", sla: "contract_sla" },
};

/** The fields but those that are read in a table which a rule keeps from the call. */
function withoutKept(fields: readonly string[]): readonly string[] {
  return fields.filter((field) => !field.split(".").slice(0, -1).some((step) => isKept(targets[step] ?? step)));
}

/** Every table that each kind of related records may show. */
export const tablesOfKind: Readonly<Record<string, readonly string[]>> = {
  answers: ["sc_req_item"],
  tasks: ["task", "change_task", "problem_task", "sc_task", "incident", "problem", "change_request"],
  items: ["sc_req_item"],
  approvals: ["sysapproval_approver"],
  ci: ["cmdb_ci", "cmdb_rel_ci"],
  work: ["task"],
  similar: ["incident"],
  slas: ["task_sla"],
  members: ["sys_user_grmember", "sys_user", "sys_user_group"],
  on_call: ["cmn_rota_member", "sys_user"],
};

/** The kinds of related records in a parameter, as callers call them: `comments` are of the journal, `sla` is slas. */
export function kindsOf(text: string | undefined): readonly string[] {
  const names = listOf(text?.toLowerCase()) ?? [];
  return names.map((name) =>
    /^(comments|work_?notes|notes)$/.test(name)
      ? "journal"
      : Object.hasOwn(tablesOfKind, `${name}s`)
      ? `${name}s`
      : name
  );
}
