/** What the stand-in says of an attack: what it was asked, what it changed, and what its data hides from a person. */
import assert from "node:assert/strict";
import { maySee } from "../../fixtures/servicenow/access/access.ts";
import { instanceUsers } from "../../fixtures/servicenow/data/people.ts";
import { parseEncodedQuery } from "../../fixtures/servicenow/query/parse.ts";
import { rowsOf, type Session } from "../../fixtures/servicenow/world.ts";
import type { Desk } from "../desk/desk_place.ts";
import { defaultTables, lookupTables } from "../../../src/servicenow/tables.ts";

const secrets = /never-to-be-(shown|read)|Stolen credentials|Salary bands/;
const secretFields = /password|failed_attempts|locked_out|token|roles/;
/** Read by the server itself, for names of columns and choices, the journal, delegations, and where a record producer writes. */
const readForItself = new Set([
  ...[
    "sys_db_object",
    "sys_dictionary",
    "sys_documentation",
    "sys_choice",
    "sys_journal_field",
    "sys_user_delegate",
    "sc_cat_item_producer",
  ],
]);

/** What gives hidden records away: their numbers, and the texts that no visible record has. */
export interface Hidden {
  readonly numbers: ReadonlySet<string>;
  readonly texts: readonly string[];
}

export function hiddenFrom({ instance }: Desk, userName: string): Hidden {
  const user = instanceUsers.find((each) => each.userName === userName);
  assert.ok(user !== undefined);
  const session = { world: instance, user } as unknown as Session;
  const rows = ["task", "kb_knowledge"].flatMap((table) => rowsOf(instance, table));
  const [hidden = [], visible = []] = [false, true].map((seen) =>
    rows.filter(({ table, record }) => maySee(session, table, record) === seen).map(({ record }) => record)
  );
  const shown = visible.map((record) => JSON.stringify(record)).join();
  const texts = new Set(hidden.flatMap((record) => record["short_description"] ?? []));
  return {
    numbers: new Set(hidden.flatMap((record) => record["number"] ?? [])),
    texts: [...texts].filter((text) => text.length > 8 && !shown.includes(text)),
  };
}

/** No answer shows a secret, or a record that is hidden; a refusal may repeat a number that `input` gave. */
export function assertShowsNothingHidden(answer: string, input: object, hidden: Hidden): void {
  const given = JSON.stringify(input).toUpperCase();
  const text = answer.replaceAll("such as INC0010001", "");
  assert.doesNotMatch(text, secrets);
  for (const number of text.match(/\b[A-Z]{2,8}\d{7}\b/g) ?? []) {
    assert.ok(!hidden.numbers.has(number) || given.includes(number), `${number} is hidden: ${given} answered ${text}`);
  }
  for (const each of hidden.texts) assert.ok(!text.includes(each), `${each} is hidden: ${given} answered ${text}`);
}

/** Each query was one this server made: of open tables, without a script, a second group, or a part of no meaning. */
export function assertAskedNothingStrange({ instance }: Desk): void {
  assert.deepEqual(instance.scripts, []);
  assert.deepEqual(instance.crashes, []);
  for (const { path, query } of instance.requests) {
    const table = /^\/api\/now\/(?:table|stats)\/([^/]+)/.exec(path)?.[1];
    const isOpen = table === undefined || readForItself.has(table) || table.startsWith("cmdb_ci_") ||
      [...defaultTables, ...lookupTables, "task"].includes(table);
    assert.ok(isOpen, `${path} was asked`);
    for (const name of ["sysparm_query", "filter"]) {
      const { groups, invalid, order } = parseEncodedQuery(query.get(name) ?? "");
      const asked = [...groups.flat(2), ...order].map(({ field }) => field);
      assert.ok(!asked.some((field) => secretFields.test(field)), `${path} ${query}`);
      assert.equal(groups.length, 1, `${path} ${query}`);
      assert.deepEqual(invalid, [], `${path} ${query}`);
    }
    assert.doesNotMatch(query.get("sysparm_fields") ?? "", secretFields);
  }
}

type Snapshot = ReadonlyMap<string, string>;

/** All records as text, by table and sys_id. */
export function snapshot({ instance }: Desk): Snapshot {
  return new Map(
    [...instance.tables].flatMap(([table, rows]) =>
      [...rows].map(([sysId, record]) => [`${table} ${sysId}`, JSON.stringify(record)] as const)
    ),
  );
}

/** Records that changed were the person's own before, or are new and theirs. */
export function assertChangedOnlyOwn(before: Snapshot, after: Snapshot, userId: string, userName: string): void {
  for (const key of before.keys()) assert.ok(after.has(key), `${key} is gone`);
  for (const [key, text] of after) {
    const was = before.get(key);
    if (was === text) continue;
    assert.ok((was ?? text).includes(userId) || text.includes(`"sys_created_by":"${userName}"`), `${key}: ${text}`);
  }
}
