/** The stand-in's Aggregate API. */
import assert from "node:assert/strict";
import { openDesk } from "./desk.ts";

const stats = "/api/now/stats/incident";

Deno.test("Aggregate API: counts, averages and groups, by value, label or both", async () => {
  await using desk = await openDesk({ data: "small" });
  const ask = async (query: Record<string, string>) => (await desk.ask("ada", stats, { query })).body.result;
  assert.deepEqual(await ask({ sysparm_count: "true" }), { stats: { count: "15" } });
  assert.deepEqual(await ask({}), { stats: {} });
  const byState = { sysparm_count: "true", sysparm_group_by: "state", sysparm_order_by: "state" };
  assert.deepEqual(await ask(byState), [
    { stats: { count: "2" }, groupby_fields: [{ field: "state", value: "1" }] },
    { stats: { count: "1" }, groupby_fields: [{ field: "state", value: "2" }] },
    { stats: { count: "12" }, groupby_fields: [{ field: "state", value: "7" }] },
  ]);
  const [, second] = await ask({ ...byState, sysparm_display_value: "all" });
  assert.deepEqual(second.groupby_fields, [{ field: "state", value: "2", display_value: "In Progress" }]);
  const [, labelled] = await ask({ ...byState, sysparm_display_value: "true" });
  assert.deepEqual(labelled.groupby_fields, [{ field: "state", value: "In Progress" }]);
  const dear = await ask({
    sysparm_query: "active=true",
    sysparm_avg_fields: "priority",
    sysparm_max_fields: "priority",
  });
  assert.deepEqual(dear.stats, { avg: { priority: "2.3333" }, max: { priority: "3" } });
  const few = await ask({ ...byState, sysparm_having: "count^state^<^12" });
  assert.equal(few.length, 2);
  const related = await ask({ ...byState, sysparm_query: "active=true", sysparm_group_by: "caller_id.name,priority" });
  assert.deepEqual(related.length, 3);
  const largest = await ask({ ...byState, sysparm_order_by: "COUNT^DESC^" });
  assert.equal(largest[0].stats.count, "12");
});

Deno.test("Aggregate API: what people who may not read all records are told is a switch", async () => {
  await using desk = await openDesk({ data: "small" });
  const query = { sysparm_count: "true" };
  assert.equal((await desk.ask("ben", stats, { query })).body.result.stats.count, "15");
  desk.instance.habits.stats = "counts_visible";
  assert.equal((await desk.ask("ben", stats, { query })).body.result.stats.count, "1");
  desk.instance.habits.stats = "forbidden";
  assert.equal((await desk.ask("ben", stats, { query })).status, 403);
  assert.equal((await desk.ask("ada", stats, { query })).status, 200);
  assert.equal((await desk.ask("ben", "/api/now/stats/change_request", { query })).status, 403);
  assert.equal((await desk.ask("ben", "/api/now/stats/x_gone", { query })).status, 400);
});
