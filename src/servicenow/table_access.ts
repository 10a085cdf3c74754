/** Which tables agents may use: the operator's, people and groups for look-up, and never a refused one. */
import { closestWord } from "../lib/closest_word.ts";
import { maySuggestPlace } from "../lib/suggestible.ts";
import { success } from "../lib/result.ts";
import { excerpt, invalidInput, type Outcome } from "./failure.ts";
import { isRefusedTable, knownTable, lookupTables, namesIn, tableNameOf } from "./tables.ts";

/** Its rows belong to tables that extend it: only rows of allowed ones are read through it. */
const baseTable = "task";
/** Tables whose rows are about a task of any kind, by the field that says which. */
const aboutTasks: ReadonlyMap<string, string> = new Map([
  ["sysapproval_approver", "sysapproval"],
  ["task_sla", "task"],
]);

export type TableAccess = ReturnType<typeof createTableAccess>;

export function createTableAccess(listed: readonly string[]) {
  const all = listed.includes("*");
  const named = listed.filter((item) => !item.endsWith("*"));
  const starts = listed.filter((item) => item.endsWith("*")).map((item) => item.slice(0, -1));
  const isListed = (table: string): boolean =>
    all || named.includes(table) || starts.some((start) => table.startsWith(start));
  const tasks = named.filter((name) => knownTable(name)?.parents.includes("task"));
  const mayRead = (table: string): boolean =>
    !isRefusedTable(table) &&
    (isListed(table) || lookupTables.includes(table) || (table === baseTable && tasks.length > 0));
  const mayWrite = (table: string): boolean =>
    !isRefusedTable(table) && isListed(table) && !lookupTables.includes(table) && table !== baseTable;
  const names = [...named, ...starts.map((start) => `${start}*`), ...(tasks.length > 0 ? ["task"] : [])];

  const choose = (text: string, may: (table: string) => boolean, verb: string): Outcome<string> => {
    const table = tableNameOf(text);
    if (may(table)) return success(table);
    const nearest = closestWord(table, [...named, ...lookupTables].filter(may).filter(maySuggestPlace));
    const shown = excerpt(text);
    const open = [...names, ...lookupTables].filter((name) =>
      (may(name) || name.endsWith("*")) && maySuggestPlace(name)
    );
    const remedy = nearest !== null ? `did you mean ${nearest}?` : `tables here: ${open.join(", ")}`;
    return invalidInput(`the table ${shown} cannot be ${verb} here; ${remedy}`);
  };

  /** The classes to which rows of the base table are narrowed; `null` where the table is its own class. */
  const classesOf = (table: string): readonly string[] | null => table === baseTable && !isListed(table) ? tasks : null;

  return {
    /** The term of a query that leaves rows about closed tables out; empty where no row can be. */
    openRows(table: string): string {
      const classes = classesOf(table);
      if (classes !== null) return `sys_class_nameIN${classes.join(",")}`;
      const field = aboutTasks.get(table);
      return field === undefined || isListed("task")
        ? ""
        : `${field}.sys_class_nameIN${tasks.join(",")}^OR${field}ISEMPTY`;
    },
    /** The field by which rows of the table are about a task, where only rows about tasks of open tables are read. */
    taskField: (table: string) => isListed("task") ? null : aboutTasks.get(table) ?? null,
    /** The table that `text` names, if it may be read; else a failure that names the readable ones. */
    readable: (text: string) => choose(text, mayRead, "read"),
    writable: (text: string) => choose(text, mayWrite, "written"),
    mayRead,
    classesOf,
    /** The names that a caller may be shown. */
    names: all ? [...names, "every other table of the instance that is not refused"] : names,
  };
}

/** What a user's own profile and any other person's record show: nothing of how the account is protected. */
export const personFields = namesIn(
  "sys_id user_name name first_name last_name email title department company location manager phone time_zone " +
    "preferred_language active",
);

/** The only fields that people and groups show. */
const safeFields: ReadonlyMap<string, readonly string[]> = new Map([
  ["sys_user", [...personFields, "mobile_phone", "vip"]],
  ["sys_user_group", namesIn("sys_id name description manager email parent active type")],
  ["sys_user_grmember", ["sys_id", "user", "group"]],
]);

const secretName =
  /passw|passphrase|secret(?!ary)|token|credential|api_?key|private_key|(^|_)(pin|pwd|otp|hash|salt|cookie|ssn)(_|$)|session_id|failed_attempts/;
const secretType = /^(password|password2|masked|encrypted)/;

/** Whether a field is never shown, searched or written. */
export function isSecretField(name: string, type = ""): boolean {
  return secretName.test(name) || secretType.test(type);
}

/** People and groups: read by a fixed list of fields, and by nothing else. */
export function hasFixedFields(table: string): boolean {
  return safeFields.has(table);
}

/** Whether a field of the table may be shown and searched. */
export function mayShowField(table: string, name: string, type?: string): boolean {
  return !isSecretField(name, type) && (safeFields.get(table)?.includes(name) ?? true);
}

/** Fields that the platform keeps itself: a write to one of them is refused. */
export function isPlatformField(name: string): boolean {
  return name.startsWith("sys_") || name === "number";
}
