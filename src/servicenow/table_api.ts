/** Which tables agents may use: the operator's, people and groups for look-up, never a refused one; and their rows. */
import * as z from "zod";
import { closestWord, maySuggestPlace } from "../lib/suggestible.ts";
import { attempt, excerpt, ifShown, invalidInput, Refusal } from "./failure.ts";
import { isRefusedTable, knownTable, lookupTables, namesIn, tableNameOf } from "./tables.ts";
import { askJson, type CallAs, type Caller, maxReplyBytes, parseResult, type ServicenowInstance } from "./transport.ts";
import { isStoredSysId, type RecordFields, recordSchema, storedValue } from "./field_values.ts";
import type { InstanceAccount } from "./link_store.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { Clock } from "../lib/time.ts";

/** Its rows belong to tables that extend it: only rows of allowed ones are read through it. */
const baseTable = "task";
/** Tables whose rows are about a task of any kind, by the field that says which. */
const aboutTasks: ReadonlyMap<string, string> = new Map([
  ["sysapproval_approver", "sysapproval"],
  ["task_sla", "task"],
]);

export function createTableAccess(listed: readonly string[]) {
  const named = listed.filter((item) => !item.endsWith("*"));
  const starts = listed.filter((item) => item.endsWith("*")).map((item) => item.slice(0, -1));
  const isListed = (table: string): boolean => named.includes(table) || starts.some((start) => table.startsWith(start));
  const tasks = named.filter((name) => knownTable(name)?.parents.includes("task"));
  const mayRead = (table: string): boolean =>
    !isRefusedTable(table) &&
    (isListed(table) || lookupTables.includes(table) || (table === baseTable && tasks.length > 0));
  const mayWrite = (table: string): boolean =>
    !isRefusedTable(table) && isListed(table) && !lookupTables.includes(table) && table !== baseTable;
  const names = [...named, ...starts.map((start) => `${start}*`), ...(tasks.length > 0 ? ["task"] : [])];

  const choose = (text: string, may: (table: string) => boolean, verb: string): string => {
    const table = tableNameOf(text);
    if (may(table)) return table;
    const nearest = closestWord(table, [...named, ...lookupTables].filter(may).filter(maySuggestPlace));
    const shown = excerpt(text);
    const open = [...names, ...lookupTables].filter((name) =>
      (may(name) || name.endsWith("*")) && maySuggestPlace(name)
    );
    const remedy = nearest !== null ? `did you mean ${nearest}?` : `tables here: ${open.join(", ")}`;
    throw invalidInput(`the table ${shown} cannot be ${verb} here; ${remedy}`);
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
    /** The table that `text` names, if it may be read; else a refusal that names the readable ones. */
    readable: (text: string) => choose(text, mayRead, "read"),
    writable: (text: string) => choose(text, mayWrite, "written"),
    mayRead,
    mayWrite,
    classesOf,
    /** The names that a caller may be shown. */
    names: starts.includes("") ? [...names, "every other table of the instance that is not refused"] : names,
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

// The Table API: rows of one table, read and written in a person's own name.

/**
 * Where `rel="next"` leads (RFC 8288 §3). Only the offset is taken from it: the address is never followed, and has to
 * be the instance's own.
 */
function nextOffset(link: string | null, { origin }: ServicenowInstance, offset: number): number | null {
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

/** Which rows, in what form. Without `fields`, all that the person may see. */
interface RowsRequest {
  /** An encoded query of this server's own making. */
  readonly query: string;
  readonly fields?: readonly string[] | undefined;
  readonly limit: number;
  readonly offset?: number;
  /** Stored values alone, for what is not shown. */
  readonly stored?: boolean;
}

/**
 * The JSON of one record that is shown in parts: a text with pictures in it stands there twice, as value and as display
 * value.
 */
const maxShownRecordBytes = 8_388_608;
/** Rows that are looked at where the first is hidden: versions of one article. */
const maxHiddenFirst = 20;

/** Value and display value of each field; both identify a referenced record, so its link is left out. */
const readableForm: Readonly<Record<string, string>> = {
  sysparm_display_value: "all",
  sysparm_exclude_reference_link: "true",
};

/** In place of rows that the instance keeps from the person. */
export const noRows = { rows: [], nextOffset: null, total: null, isCut: false };

/** The Table API in one caller's name. */
export function createTableApi(
  callAs: CallAs,
  instance: ServicenowInstance,
  caller: Caller,
  maxRecordBytes = maxShownRecordBytes,
) {
  const fieldsOf = (fields: readonly string[] | undefined): Record<string, string> =>
    fields === undefined ? {} : { sysparm_fields: [...new Set(["sys_id", ...fields])].join(",") };
  const write = (method: "POST" | "PATCH", path: string, values: Readonly<Record<string, string>>) => {
    const body = { type: "application/json", content: JSON.stringify(values) };
    const request = { method, path, query: readableForm, body, maxBytes: maxRecordBytes };
    return askJson(callAs, caller, request, recordSchema);
  };
  const api = {
    /** Rows that the person may see, and where the next page starts. */
    async rows(table: string, { query, fields, limit, offset = 0, stored = false }: RowsRequest) {
      const answer = await callAs(caller, {
        method: "GET",
        accept: "json",
        maxBytes: limit === 1 ? maxRecordBytes : maxReplyBytes,
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
      if (!answer.ok) throw new Refusal(answer.error);
      const parsed = parseResult(answer.value, z.array(recordSchema));
      if (!parsed.ok) throw new Refusal(parsed.error);
      const sysIds = parsed.value.map((row) => storedValue(row, "sys_id")).filter((sysId) => sysId !== "");
      if (!sysIds.every(isStoredSysId)) throw new Refusal({ reason: "unavailable", because: "bad_reply" });
      const next = nextOffset(answer.value.headers.get("link"), instance, offset);
      const total = toCount(answer.value.headers.get("x-total-count"));
      return {
        rows: parsed.value,
        /** `null` at the end, or where the instance does not say. */
        nextOffset: next,
        /** X-Total-Count: with the rows that the person may not see, or without; `null` where the instance gives none. */
        total,
        /** Whether there are, or may be, more after these. */
        isCut: next !== null || (total === null ? parsed.value.length >= limit : total > offset + limit),
      };
    },
    /** Rows that help where the instance shows them to the person; none where it keeps them from the person. */
    async rowsIfShown(table: string, request: RowsRequest): Promise<readonly RecordFields[]> {
      return (await ifShown(api.rows(table, request), noRows)).rows;
    },
    async row(table: string, sysId: string, fields?: readonly string[]): Promise<RecordFields> {
      const query = { ...readableForm, ...fieldsOf(fields) };
      const request = { path: `/api/now/table/${table}/${sysId}`, query, maxBytes: maxRecordBytes };
      const record = await askJson(callAs, caller, request, recordSchema);
      if (storedValue(record, "sys_id") === "") throw new Refusal({ reason: "not_found" });
      return record;
    },
    /** The first row of a query; further ones are looked at where the instance hides the first, or only one is `meant`. */
    async firstRow(
      table: string,
      request: Omit<RowsRequest, "limit">,
      meant?: (row: RecordFields) => boolean,
    ): Promise<RecordFields | undefined> {
      const { rows: [first], total } = await api.rows(table, { ...request, limit: 1 });
      if (total === 0 || (first !== undefined && (meant?.(first) !== true || total === 1))) return first;
      const { rows } = await api.rows(table, { ...request, fields: ["number"], limit: maxHiddenFirst });
      const ids = meant === undefined ? [] : rows.filter(meant).map((row) => storedValue(row, "sys_id"));
      if (ids.length > 1) {
        const choice = `give table=${table} and one's sys_id: ${ids.join(", ")}`;
        throw invalidInput(`the number stands for several records; ${choice}`);
      }
      return first ?? (rows[0] && await api.row(table, storedValue(rows[0], "sys_id"), request.fields));
    },
    insert: (table: string, values: Readonly<Record<string, string>>) =>
      write("POST", `/api/now/table/${table}`, values),
    update: (table: string, sysId: string, values: Readonly<Record<string, string>>) =>
      write("PATCH", `/api/now/table/${table}/${sysId}`, values),
  };
  return api;
}

const keptMs = 600_000;
/** Characters of everything that is kept. */
const maxCharacters = 16_777_216;

/** What the jobs of a service desk are made of: built once for an instance, and asked in one person's name at a time. */
export type DeskParts = ReturnType<ReturnType<typeof createDeskParts>>;

const maxVersions = 20_000;

export function createDeskParts({ access, callAs, instance, clock, elapsed }: {
  readonly access: ReturnType<typeof createTableAccess>;
  readonly callAs: CallAs;
  readonly instance: ServicenowInstance;
  /** The time of day. */
  readonly clock: Clock;
  /** Only differences are used: the clock of the calls. */
  readonly elapsed: Clock;
}) {
  type Entry = { readonly value: unknown; readonly until: number; readonly characters: number };
  const entries = boundedMap<string, Entry>({ maxWeight: maxCharacters, weigh: ({ characters }) => characters });
  const versions = boundedMap<string, string>(maxVersions);
  /** `account`: under which the instance knows the caller. */
  return (person: Caller & { readonly account: InstanceAccount }) => {
    const keyOf = (...name: readonly string[]): string =>
      JSON.stringify([person.subject, person.account.sysId, ...name]);
    return {
      ...{ access, callAs, instance, clock, person },
      tableApi: createTableApi(callAs, instance, person),
      /** Loads what is asked of the instance again and again. Refusals are not kept. */
      async remember<T>(name: readonly string[], load: () => Promise<T>): Promise<T> {
        const key = keyOf(...name);
        const kept = entries.get(key);
        if (kept !== undefined && kept.until > elapsed()) return kept.value as T;
        const value = await load();
        const characters = key.length + JSON.stringify(value).length;
        entries.set(key, { value, until: elapsed() + keptMs, characters });
        return value;
      },
      /** Which version of a record the person saw last, so that a colleague's later change is not overwritten unseen. */
      seen: {
        note(record: RecordFields): void {
          const version = storedValue(record, "sys_mod_count");
          if (version !== "") versions.set(keyOf(storedValue(record, "sys_id")), version);
        },
        /** `undefined` where the person was not shown the record here. */
        of: (sysId: string) => versions.get(keyOf(sysId)),
      },
    };
  };
}

// * Reads rows until enough are there. Instances differ: a page is cut before the rights, the count is made before or
// after them, links and counts may be missing. The end is where a link or a count says so, or where a wide page is
// empty.

/** Where reading begins. */
export interface ReadingPlace {
  /** Rows to skip at the instance. */
  readonly offset: number;
  /** Visible rows after the ones already returned. */
  readonly skip: number;
  /** Visible rows before `offset`. */
  readonly given: number;
}

/** Rows of a request that goes on. */
const maxChunk = 200;
/** Rows of a request that looks whether there is more where neither link nor count says so. */
const wideChunk = 1_000;

/** `next`: where to go on; `null` at the end. `total`: the instance's own count, which may include hidden rows. */
export async function readOn(
  tableApi: Pick<ReturnType<typeof createTableApi>, "rows">,
  table: string,
  request: Omit<RowsRequest, "limit" | "offset">,
  { wanted, maxRequests, start = { offset: 0, skip: 0, given: 0 }, firstChunk = wanted }: {
    readonly wanted: number;
    readonly maxRequests: number;
    readonly start?: ReadingPlace;
    readonly firstChunk?: number;
  },
) {
  const found: RecordFields[] = [];
  const end = (next: ReadingPlace | null, total: number | null) => ({ rows: found, next, total });
  let { offset, skip, given } = start;
  let chunk = firstChunk + skip;
  for (let requests = 1;; requests++) {
    const page = await attempt(tableApi.rows(table, { ...request, limit: chunk, offset }));
    if (!page.ok && page.error.reason === "too_large" && chunk > 1 && requests < maxRequests) {
      chunk = Math.ceil(chunk / 4);
      continue;
    }
    if (!page.ok) throw new Refusal(page.error);
    const { rows, nextOffset, total } = page.value;
    const fresh = rows.slice(skip);
    const missing = wanted - found.length;
    found.push(...fresh.slice(0, missing));
    if (fresh.length > missing) return end({ offset, skip: skip + missing, given }, total);
    given += rows.length;
    const isAll = total !== null && given >= total;
    const isPast = rows.length === 0 && chunk >= wideChunk && offset + chunk >= (total ?? 0);
    if (nextOffset === null && (isAll || isPast)) return end(null, total);
    offset = Math.min(nextOffset ?? Infinity, offset + chunk); // a link may lead too far
    skip = Math.max(0, skip - rows.length);
    if (requests >= maxRequests || found.length >= wanted) return end({ offset, skip, given }, total);
    chunk = nextOffset === null ? wideChunk : Math.max(chunk, Math.min(maxChunk, 4 * chunk));
  }
}

// Values as parts of encoded queries. Fields and operators are this server's own; a value can be nothing but a value.

const maxValueCharacters = 200;

/**
 * A value as part of a query: one line, `^` as `^^`. Refuses what begins like a script: the instance evaluates
 * `javascript:` values.
 */
export function toQueryValue(text: string): Result<string, string> {
  const value = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  if (value === "") return failure("must not be empty");
  if (value.length > maxValueCharacters) return failure(`must have at most ${maxValueCharacters} characters`);
  if (/^javascript\s*:/i.test(value)) return failure("must not be a script");
  return success(value.replaceAll("^", "^^"));
}

export const newestFirst = "ORDERBYDESCsys_updated_on";

/** Values as parts of a query; the first that cannot be one is refused, as part of what `name` says. */
export function toQueryValues(texts: readonly string[], name: string): readonly string[] {
  return texts.map((text) => {
    const value = toQueryValue(text);
    if (!value.ok) throw invalidInput(`${name} ${value.error}`);
    return value.value;
  });
}

/** The terms of a query; an empty one asks nothing. */
export function allOf(...terms: readonly string[]): string {
  return terms.filter((term) => term !== "").join("^");
}

/** `^OR` binds to the term before it. */
export function anyOf(terms: readonly string[]): string {
  return terms.join("^OR");
}
