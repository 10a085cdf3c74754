import assert from "node:assert/strict";
import { searchRecords } from "../../../src/servicenow/search.ts";
import { callerOf, openPlace, patientTimes } from "../place.ts";
import { openDesk } from "./desk_place.ts";

Deno.test("a job ends in time although each of its requests would be waited for", async () => {
  await using place = await openPlace();
  await place.link("ada", "ada");
  const { run } = place.another({ elapsed: () => performance.now(), times: { ...patientTimes, jobMs: 300 } });
  place.instance.faults.play("silence", { times: 99 });
  const search = { table: "incident", where: "state=In Progress\nassigned_to=me", limit: 10 };
  const found = await run(searchRecords, search, callerOf("ada"));
  assert.deepEqual(found, { ok: false, error: { reason: "unavailable", because: "timed_out" } });
});

Deno.test("an instance that refuses, sleeps or limits is told in words, by each tool the same", async () => {
  for (
    const [fault, expected] of [
      ["hibernating", /ServiceNow unavailable\. The instance answered with a web page/],
      ["rate_limited", /Rate limited by ServiceNow\. Try again in 1234 seconds/],
      ["api_forbidden", /Insufficient permissions/],
      ["not_json", /could not be understood/],
      ["huge_record", /Record too large/],
      ["transaction_cancelled", /internal error/],
    ] as const
  ) {
    await using desk = await openDesk();
    desk.instance.faults.play(fault, { times: 99 });
    for (
      const [name, input] of [
        ["servicenow_search", { table: "incident" }],
        ["servicenow_count", { table: "incident" }],
        ["servicenow_get_record", { id: "INC0010001" }],
        ["servicenow_update", { id: "INC0010001", values: "urgency=1" }],
        ["servicenow_add_note", { id: "INC0010001", audience: "team", text: "x" }],
        ["servicenow_approve", { id: "CHG0030001", decision: "approve" }],
        ["servicenow_order", { action: "show_cart" }],
        ["servicenow_fetch_attachment", { id: "INC0010001" }],
      ] as const
    ) assert.match(await desk.text(name, input), expected, `${fault} ${name}`);
  }
});

Deno.test("servicenow_count tells at least, and whose count the rest is, beyond what it counts one by one", async () => {
  await using desk = await openDesk();
  const incidents = desk.instance.tables.get("incident");
  const [first] = incidents?.values() ?? [];
  for (let index = 0; index < 10_100; index++) {
    const id = index.toString(16).padStart(32, "0");
    incidents?.set(id, { ...first, sys_id: id, number: `INC1${String(index).padStart(6, "0")}` });
  }
  assert.match(
    await desk.text("servicenow_count", { table: "incident" }),
    /^incident: at least 10000 that the user may see\nServiceNow counts 10115, which may include records that the user may not see/,
  );
});

Deno.test("a job that began as one account is not finished as another that the person links meanwhile", async () => {
  await using place = await openPlace();
  await place.link("ada", "ada");
  let relinked = false;
  const relinking: typeof fetch = async (input, init) => {
    if (!relinked && String(input).includes("sys_dictionary")) {
      relinked = true;
      await place.link("ada", "ben");
      place.instance.oauth.endTokensOf("ada");
    }
    return await fetch(input, init);
  };
  const { run } = place.another({ fetch: relinking });
  const request = { table: "incident", where: "state=New", limit: 10 };
  const found = await run(searchRecords, request, callerOf("ada"));
  assert.ok(!found.ok && found.error.reason === "invalid_input");
  assert.match(found.error.message, /linked another ServiceNow account during the call: call again/);
  assert.ok(!place.instance.requests.some(({ user, path }) => user === "ben" && path.startsWith("/api/now/table")));
  const again = await run(searchRecords, request, callerOf("ada"));
  assert.ok(again.ok && again.value.records.length === 1, "Ben's own");
});
