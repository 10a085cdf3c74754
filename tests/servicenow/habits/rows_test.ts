/** No row is lost, however an instance cuts, counts and links its pages. */
import assert from "node:assert/strict";
import { readOn } from "../../../src/servicenow/table_api.ts";
import { openDesk } from "../desk/desk_place.ts";
import { sysId } from "../../fixtures/servicenow/world.ts";

for (const totalCount of ["before_acl", "after_acl", "absent"] as const) {
  for (const linkHeader of ["given", "absent"] as const) {
    for (const pageCut of ["before_acl", "after_acl"] as const) {
      const way = `count ${totalCount}, link ${linkHeader}, page cut ${pageCut}`;
      Deno.test(`a search gives every row that the person may see: ${way}`, async () => {
        await using desk = await openDesk({ instance: { data: "desk", habits: { totalCount, linkHeader, pageCut } } });
        const rows = [...desk.instance.tables.get("incident")?.values() ?? []];
        // The newest two hundred are hidden from ben.
        rows.forEach((row, index) => row["sys_updated_on"] = `2026-04-01 00:${String(index % 60).padStart(2, "0")}:00`);
        const own = rows.filter((row) => row["caller_id"] === sysId("b2") || row["opened_by"] === sysId("b2"));
        for (const row of own) row["sys_updated_on"] = "2026-03-01 00:00:00";
        const all = new Set(own.map((row) => row["number"]));
        for (const limit of [3, 10, 50]) {
          const found = new Set<string>();
          let cursor: string | undefined;
          for (let page = 0; page < 60; page++) {
            const input = { table: "incident", limit, ...cursor === undefined ? {} : { cursor } };
            const text = await desk.text("servicenow_search", input, "ben");
            for (const [number] of text.matchAll(/^INC\d{7}/gm)) {
              assert.ok(!found.has(number), `${number} twice`);
              found.add(number);
            }
            cursor = /cursor=(\S+)/.exec(text)?.[1];
            if (cursor === undefined) break;
          }
          assert.deepEqual(found, all, String(limit));
        }
        assert.match(
          await desk.text("servicenow_count", { table: "incident" }, "ben"),
          new RegExp(`^incident: ${all.size} that`),
        );
        const few = await desk.text("servicenow_search", { table: "incident", where: "caller_id=me", limit: 3 }, "ben");
        assert.match(few, /^incident: the first 3/);
      });
    }
  }
}

Deno.test("an article whose newest version is hidden is found by its number", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const articles = desk.instance.tables.get("kb_knowledge");
  const [published] = [...articles?.values() ?? []].filter((each) => each["workflow_state"] === "published");
  const id = "e".repeat(32);
  articles?.set(id, {
    ...published,
    sys_id: id,
    workflow_state: "draft",
    author: "",
    sys_updated_on: "2027-01-01 00:00:00",
  });
  const read = await desk.text("servicenow_get_record", { id: published?.["number"] ?? "" }, "ben");
  assert.match(read, new RegExp(`^${published?.["number"]} `));
});

Deno.test("a limit above the most gives the most", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const text = await desk.text("servicenow_search", { table: "incident", limit: 100 });
  assert.match(text, /^incident: the first 50 of \d+ that ServiceNow counts/);
});

Deno.test("no row is lost between pages where an instance gives rows of the same rank in any order", async () => {
  await using desk = await openDesk({ instance: { data: "desk", habits: { ties: "any_order" } } });
  for (const row of desk.instance.tables.get("incident")?.values() ?? []) row["sys_updated_on"] = "2026-03-01 00:00:00";
  for (const order of [{}, { order_by: "priority" }, { order_by: "-state,priority" }]) {
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const input = { table: "incident", limit: 50, ...order, ...cursor === undefined ? {} : { cursor } };
      const text = await desk.text("servicenow_search", input);
      found.push(...text.match(/^INC\d{7}/gm) ?? []);
      cursor = /cursor=(\S+)/.exec(text)?.[1];
    } while (cursor !== undefined);
    assert.equal(found.length, 201, JSON.stringify(order));
    assert.equal(new Set(found).size, 201, JSON.stringify(order));
  }
});

Deno.test("no row is lost behind thousands that are hidden, where a count says that there are more", async () => {
  const all = Array.from({ length: 5_005 }, (_, index) => ({ sys_id: String(index) }));
  const rows = ({ limit, offset = 0 }: { readonly limit: number; readonly offset?: number }) =>
    Promise.resolve({
      rows: all.slice(offset, offset + limit).filter(({ sys_id: id }) => Number(id) >= 5_000),
      nextOffset: null,
      total: all.length,
      isCut: false,
    });
  const found: unknown[] = [];
  let requests = 0;
  let start: Awaited<ReturnType<typeof readOn>>["next"] | undefined;
  do {
    const read = await readOn(
      { rows: (_table, request) => (requests++, rows(request)) },
      "incident",
      { query: "" },
      { wanted: 3, maxRequests: 4, ...start ? { start } : {} },
    );
    found.push(...read.rows);
    start = read.next;
    assert.ok(requests < 20, "it comes to an end");
  } while (start !== null);
  assert.deepEqual(found, all.slice(5_000));
});

Deno.test("a link to a later page than the next one skips no rows", async () => {
  const all = Array.from({ length: 30 }, (_, index) => ({ sys_id: String(index) }));
  const rows = ({ limit, offset = 0 }: { readonly limit: number; readonly offset?: number }) =>
    Promise.resolve({
      rows: all.slice(offset, offset + limit),
      nextOffset: offset + limit < all.length ? offset + 2 * limit : null,
      total: all.length,
      isCut: false,
    });
  const reading = { wanted: 30, maxRequests: 20, firstChunk: 4 };
  const read = await readOn({ rows: (_table, request) => rows(request) }, "incident", { query: "" }, reading);
  assert.deepEqual(read.rows, all);
});

Deno.test("a number that stands for several records is refused, for reading and for writing, and each can be named", async () => {
  for (const totalCount of ["before_acl", "after_acl", "absent"] as const) {
    await using desk = await openDesk({ instance: { data: "desk", habits: { totalCount } } });
    const incidents = desk.instance.tables.get("incident");
    const [first] = [...incidents?.values() ?? []].filter((each) => each["number"] === "INC0010016");
    const twin = "e".repeat(32);
    incidents?.set(twin, {
      ...first,
      sys_id: twin,
      short_description: "The other one",
      sys_updated_on: "2027-01-01 00:00:00",
    });
    for (const id of ["INC0010016", "INC10016", "inc0010016"]) {
      const update = { id, values: { urgency: "2" } };
      for (
        const text of [
          await desk.text("servicenow_get_record", { id }),
          await desk.text("servicenow_update", update),
          await desk.text("servicenow_add_note", { id, audience: "team", text: "x" }),
        ]
      ) {
        assert.match(text, /^refused .*stands for several records; give table=incident and one's sys_id: .*e{32}/, id);
      }
    }
    assert.equal(desk.instance.requests.filter(({ method }) => method !== "GET").length, 0);
    const one = await desk.text("servicenow_get_record", { id: twin, table: "incident" });
    assert.match(one, /short_description: The other one/);
  }
});

Deno.test("a record that an instance answers without anything in it is not there, and is not written", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const [row] = [...desk.instance.tables.get("incident")?.values() ?? []];
  const id = row?.["sys_id"] ?? "";
  for (
    const [tool, input] of [
      ["servicenow_get_record", {}],
      ["servicenow_update", { values: { urgency: "2" } }],
    ] as const
  ) {
    desk.instance.faults.play("empty_record", { path: new RegExp(`/incident/${id}`) });
    assert.match(await desk.text(tool, { id, table: "incident", ...input }), /^refused \(servicenow_not_found\)/);
  }
  assert.equal(desk.instance.requests.filter(({ method }) => method !== "GET").length, 0);
});

Deno.test("a further page says that rows may have moved since the page before, and never that it is all", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const warning = /what changed since the page before may be missing or come twice/;
  const first = await desk.text("servicenow_search", { table: "incident", limit: 50 });
  assert.doesNotMatch(first, warning);
  let cursor = /cursor=(\S+)/.exec(first)?.[1];
  assert.ok(cursor);
  while (cursor !== undefined) {
    const text: string = await desk.text("servicenow_search", { table: "incident", limit: 50, cursor });
    assert.match(text, /^incident: (?:further \d|no further ones)/);
    assert.match(text, warning);
    cursor = /cursor=(\S+)/.exec(text)?.[1];
  }
});
