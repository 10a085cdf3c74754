/** The stand-in's Table API. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { errorOf, openDesk } from "./desk.ts";

const mail = sysId("1c", 1);

Deno.test("Table API: references come as link and value, as names, or both", async () => {
  await using desk = await openDesk();
  const read = async (query: Record<string, string>) =>
    (await desk.ask("ada", `incident/${mail}`, { query: { sysparm_fields: "assigned_to,state", ...query } })).body
      .result;
  const link = `${desk.instance.origin}/api/now/table/sys_user/${sysId("a1")}`;
  assert.deepEqual(await read({}), { assigned_to: { link, value: sysId("a1") }, state: "2" });
  assert.deepEqual(await read({ sysparm_display_value: "true" }), {
    assigned_to: { display_value: "Ada Lovelace", link },
    state: "In Progress",
  });
  assert.deepEqual(await read({ sysparm_display_value: "all", sysparm_exclude_reference_link: "true" }), {
    assigned_to: { display_value: "Ada Lovelace", value: sysId("a1") },
    state: { display_value: "In Progress", value: "2" },
  });
  assert.deepEqual(await read({ sysparm_exclude_reference_link: "true" }), { assigned_to: sysId("a1"), state: "2" });
});

Deno.test("Table API: display values are in the language, time zone and date format of the reader", async () => {
  await using desk = await openDesk();
  const query = { sysparm_fields: "state,opened_at,sys_updated_on", sysparm_display_value: "true" };
  assert.deepEqual((await desk.ask("ada", `incident/${mail}`, { query })).body.result, {
    state: "In Progress",
    opened_at: "2026-03-01 01:30:00",
    sys_updated_on: "2026-03-01 01:30:00",
  });
  assert.deepEqual((await desk.ask("cleo", `incident/${mail}`, { query })).body.result, {
    state: "In Bearbeitung",
    opened_at: "01.03.2026 10:30:00",
    sys_updated_on: "01.03.2026 10:30:00",
  });
});

Deno.test("Table API: fields may be of related records, and unknown ones are left out", async () => {
  await using desk = await openDesk();
  const query = {
    sysparm_fields: "number,caller_id.name,caller_id.manager.name,no_such_field,caller_id.user_password",
  };
  const { body } = await desk.ask("ada", `incident/${sysId("1c", 2)}`, { query });
  assert.deepEqual(body.result, {
    number: "INC0010002",
    "caller_id.name": "Ben Bitdiddle",
    "caller_id.manager.name": "Ada Lovelace",
  });
});

Deno.test("Table API: journals read as nothing, show their entries, and are rows of sys_journal_field", async () => {
  await using desk = await openDesk();
  const { body } = await desk.ask("ada", `incident/${mail}`, {
    query: { sysparm_fields: "comments", sysparm_display_value: "all" },
  });
  assert.deepEqual(body.result.comments, {
    display_value: "2026-03-01 02:00:00 - Ada Lovelace (Additional comments)\nWe are looking into it.\n\n",
    value: "",
  });
  const rows = `element_id=${mail}^ORDERBYsys_created_on`;
  const entries = await desk.find("ada", "sys_journal_field", rows, "element,value,sys_created_by");
  assert.deepEqual(entries.map((entry) => entry["element"]), ["comments", "work_notes"]);
  assert.deepEqual(await desk.find("ben", "sys_journal_field", rows), [], "the record is not his");
  desk.instance.habits.journalTable = "admin_only";
  assert.equal((await desk.ask("ada", "sys_journal_field")).status, 403);
});

Deno.test("Table API: one column shows comments and work notes together, as far as they may be read", async () => {
  await using desk = await openDesk();
  const query = { sysparm_fields: "comments_and_work_notes", sysparm_display_value: "true" };
  const shown = async (userName: string) => {
    const { body } = await desk.ask(userName, `incident/${sysId("1c", 2)}`, { query });
    return body.result.comments_and_work_notes;
  };
  await desk.ask("ben", `incident/${sysId("1c", 2)}`, { method: "PATCH", body: { comments: "Any news?" } });
  assert.match(
    await shown("ada"),
    /^2026-05-28 05:00:00 - Ben Bitdiddle \(Additional comments\)\nAny news\?\n\n2026-03-02/,
  );
  assert.doesNotMatch(await shown("ben"), /quietly/);
});

Deno.test("Table API: a task is readable through the table that it extends, another kind of record is not", async () => {
  await using desk = await openDesk();
  const { body } = await desk.ask("ada", `task/${mail}`, {
    query: { sysparm_fields: "number,sys_class_name,caller_id" },
  });
  assert.deepEqual(body.result, { number: "INC0010001", sys_class_name: "incident" }, "caller_id is no column of task");
  assert.equal((await desk.ask("ada", `problem/${mail}`)).status, 404);
  const kinds = await desk.find("ada", "task", "numberINCHG0030001,INC0010001,PRB0040001^ORDERBYnumber", "number");
  assert.deepEqual(kinds.map(({ number }) => number), ["CHG0030001", "INC0010001", "PRB0040001"]);
});

Deno.test("Table API: the limit applies before the access rules; what is counted is a switch", async () => {
  await using desk = await openDesk();
  const list = (query: Record<string, string>) => desk.ask("ben", "incident", { query });
  const page = await list({ sysparm_query: "ORDERBYnumber", sysparm_limit: "5", sysparm_fields: "number" });
  assert.deepEqual(page.body.result, [{ number: "INC0010002" }]);
  assert.equal(page.headers.get("x-total-count"), "207");
  assert.match(page.headers.get("link") ?? "", /sysparm_offset=5>;rel="next"/);
  desk.instance.habits.totalCount = "after_acl";
  const own = Number((await list({ sysparm_limit: "5" })).headers.get("x-total-count"));
  assert.equal(own, (await desk.find("ben", "incident", "", "number")).length);
  const bare = await list({ sysparm_no_count: "true", sysparm_suppress_pagination_header: "true" });
  assert.deepEqual([bare.headers.get("x-total-count"), bare.headers.get("link")], [null, null]);
});

Deno.test("Table API: refusals have the instance's own words", async () => {
  await using desk = await openDesk();
  const refuse = async (...given: Parameters<typeof desk.ask>) => errorOf(await desk.ask(...given));
  assert.equal(await refuse("ada", "x_gone"), "400 Invalid table x_gone: null");
  const hidden = "404 No Record found: Record doesn't exist or ACL restricts the record retrieval";
  assert.equal(await refuse("ada", `incident/${sysId("00")}`), hidden);
  assert.equal(await refuse("ben", `incident/${mail}`), hidden);
  assert.equal(await refuse("ben", "change_request"), "403 Insufficient rights to query records: null");
  assert.equal(
    await refuse("ada", "incident", { headers: { accept: "text/html" } }),
    "400 Invalid content-type or accept header: null",
  );
  assert.equal(
    await refuse("ada", "incident", { method: "POST", body: "{", headers: { "content-type": "application/json" } }),
    "400 Exception while reading request: The payload is not valid JSON.",
  );
  assert.equal((await desk.ask("ada", `incident/${mail}`, { method: "POST", body: {} })).status, 405);
  const unsigned = await fetch(`${desk.instance.origin}/api/now/table/incident`, {
    headers: { accept: "application/json", authorization: "Bearer nothing" },
  });
  assert.equal(unsigned.status, 401);
  assert.equal((await unsigned.json()).error.message, "User Not Authenticated");
});

Deno.test("Table API: an empty list is 200, and 404 in version 1", async () => {
  await using desk = await openDesk();
  const query = { sysparm_query: "number=INC9" };
  assert.deepEqual((await desk.ask("ada", "/api/now/v2/table/incident", { query })).body, { result: [] });
  assert.equal((await desk.ask("ada", "/api/now/v1/table/incident", { query })).status, 404);
});

Deno.test("Table API: name-value pairs filter when there is no query", async () => {
  await using desk = await openDesk();
  const { body } = await desk.ask("ada", "incident", { query: { number: "INC0010003", sysparm_fields: "number" } });
  assert.deepEqual(body.result, [{ number: "INC0010003" }]);
});

Deno.test("dictionary, tables and choices describe the instance, unless they are for administrators", async () => {
  await using desk = await openDesk();
  const inherited = await desk.find(
    "ada",
    "sys_dictionary",
    "nameINtask,incident^elementINcaller_id,short_description",
  );
  assert.deepEqual(inherited.map((each) => `${each["name"]}.${each["element"]}`).sort(), [
    "incident.caller_id",
    "task.short_description",
  ]);
  const [table] = await desk.find("ada", "sys_db_object", "name=incident", "label,super_class.name");
  assert.deepEqual(table, { label: "Incident", "super_class.name": "task" });
  const labels = await desk.find(
    "ada",
    "sys_choice",
    "name=incident^element=state^language=de^ORDERBYsequence",
    "label",
  );
  assert.equal(labels[1]?.["label"], "In Bearbeitung");
  const retired = await desk.find("ada", "sys_choice", "inactive=true^language=en", "name,element,label");
  assert.deepEqual(retired, [{ name: "incident", element: "close_code", label: "Duplicate" }]);
  const [german] = await desk.find("ada", "sys_documentation", "name=task^element=state^language=de", "label");
  assert.deepEqual(german, { label: "Status" });
  const meta = await desk.ask("ada", "/api/now/ui/meta/incident");
  assert.deepEqual(meta.body.result.columns.assignment_group.reference, "sys_user_group");
  assert.equal(meta.body.result.columns.state.choices[1].label, "In Progress");
  desk.instance.habits.metadata = "admin_only";
  for (const name of ["sys_dictionary", "sys_db_object", "sys_choice"]) {
    assert.equal((await desk.ask("ada", name)).status, 403, name);
    assert.equal((await desk.ask("dora", name)).status, 200, name);
  }
});
