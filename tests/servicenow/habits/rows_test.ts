/** No row is lost, however an instance cuts, counts and links its pages. */
import assert from "node:assert/strict";
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
