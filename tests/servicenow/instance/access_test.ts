/** Who sees and changes what on the stand-in: silent drops, hidden records, refusals. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { type Desk, errorOf, openDesk } from "./desk.ts";

const own = sysId("1c", 2); // Ben's incident

function patch(desk: Desk, userName: string, path: string, body: unknown) {
  return desk.ask(userName, path, { method: "PATCH", body, query: { sysparm_exclude_reference_link: "true" } });
}

Deno.test("access: fields that may not be read are absent, not empty", async () => {
  await using desk = await openDesk();
  const fieldsOf = async (userName: string, path: string) => Object.keys((await desk.ask(userName, path)).body.result);
  assert.ok((await fieldsOf("ada", `incident/${own}`)).includes("work_notes"));
  assert.ok(!(await fieldsOf("ben", `incident/${own}`)).includes("work_notes"));
  for (const userName of ["ben", "ada", "dora"]) {
    assert.ok(!(await fieldsOf(userName, `sys_user/${sysId("b2")}`)).includes("user_password"), userName);
  }
});

Deno.test("access: fields that may not be written are dropped from a change that succeeds", async () => {
  await using desk = await openDesk();
  const body = {
    comments: "Any news?",
    state: "6",
    work_notes: "psst",
    number: "INC1",
    sys_mod_count: "99",
    x_gone: "1",
  };
  const { status, body: { result } } = await patch(desk, "ben", `incident/${own}`, body);
  assert.equal(status, 200);
  assert.deepEqual([result.state, result.number, result.sys_mod_count], ["1", "INC0010002", "1"]);
  assert.deepEqual(desk.instance.journal(own, "comments"), ["Any news?"]);
  assert.deepEqual(desk.instance.journal(own, "work_notes"), ["Order a new one quietly."]);
  const risk = await patch(desk, "ada", `change_request/${sysId("c4")}`, { risk: "2", justification: "Old disks" });
  assert.deepEqual([risk.body.result.risk, risk.body.result.justification], ["3", "Old disks"]);
});

Deno.test("access: a change without effect leaves the update count alone", async () => {
  await using desk = await openDesk();
  const before = (await desk.ask("ada", `incident/${own}`)).body.result;
  const after =
    (await patch(desk, "ada", `incident/${own}`, { short_description: before.short_description })).body.result;
  assert.deepEqual([after.sys_mod_count, after.sys_updated_on], [before.sys_mod_count, before.sys_updated_on]);
});

Deno.test("access: records that may not be changed or created are refused", async () => {
  await using desk = await openDesk();
  const update = "403 Operation Failed: ACL Exception Update Failed due to security constraints";
  const insert = "403 Operation Failed: ACL Exception Insert Failed due to security constraints";
  const remove = "403 Operation Failed: ACL Exception Delete Failed due to security constraints";
  assert.equal(errorOf(await patch(desk, "ada", `incident/${sysId("1c", 9)}`, { comments: "late" })), update);
  assert.equal(errorOf(await patch(desk, "ada", `sys_user/${sysId("b2")}`, { title: "Boss" })), update);
  assert.equal(errorOf(await patch(desk, "ada", `kb_knowledge/${sysId("b7")}`, { text: "x" })), update);
  for (const [userName, table] of [["ben", "problem"], ["ada", "cmdb_ci"], ["ada", "sys_user_grmember"]] as const) {
    assert.equal(
      errorOf(await desk.ask(userName, table, { method: "POST", body: { short_description: "x" } })),
      insert,
    );
  }
  assert.equal(errorOf(await desk.ask("ada", `incident/${own}`, { method: "DELETE" })), remove);
  assert.equal((await desk.ask("dora", `incident/${own}`, { method: "DELETE" })).status, 204);
});

Deno.test("access: incidents of a closed group are hidden from everyone else", async () => {
  await using desk = await openDesk();
  const query = "short_descriptionSTARTSWITHStolen";
  assert.equal((await desk.find("ada", "incident", query)).length, 0);
  assert.equal((await desk.find("cleo", "incident", query)).length, 6);
  assert.equal((await desk.find("ada", "task", query)).length, 0);
});

Deno.test("access: what hangs on a hidden record is hidden with it", async () => {
  await using desk = await openDesk();
  const mail = sysId("1c", 1);
  for (const table of ["sys_attachment", "sys_journal_field"]) {
    const key = table === "sys_attachment" ? "table_sys_id" : "element_id";
    assert.ok((await desk.find("ada", table, `${key}=${mail}`)).length > 0, table);
    assert.equal((await desk.find("ben", table, `${key}=${mail}`)).length, 0, table);
  }
});

Deno.test("access: tables of credentials and scripts are for administrators", async () => {
  await using desk = await openDesk();
  for (const table of ["sys_properties", "sys_script", "discovery_credentials", "oauth_entity", "sys_user_role"]) {
    assert.equal((await desk.ask("ada", table)).status, 403, table);
    const rows = (await desk.ask("dora", table)).body.result;
    assert.ok(rows.length > 0 && !("password" in rows[0]) && !("client_secret" in rows[0]), table);
  }
  assert.deepEqual(await desk.find("ada", "sys_user_has_role", "", "role.name"), [{}], "her own role, but no names");
});

Deno.test("access: two people have the same name, and a record may hold a name where a sys_id belongs", async () => {
  await using desk = await openDesk();
  assert.equal((await desk.find("ada", "sys_user", "name=Jonas Keller")).length, 2);
  const change = () => patch(desk, "ada", `incident/${own}`, { cmdb_ci: "mx-01" });
  assert.equal((await change()).body.result.cmdb_ci, "mx-01", "stored as it is, and leads nowhere");
  desk.instance.habits.referenceByName = "resolved";
  const [server] = await desk.find("ada", "cmdb_ci_server", "name=mx-01", "sys_id");
  assert.equal((await change()).body.result.cmdb_ci, server?.["sys_id"]);
});

Deno.test("access: values may be sent as people see them", async () => {
  await using desk = await openDesk();
  const body = { urgency: "1 - High", assignment_group: "Network", due_date: "2026-06-01 08:00:00" };
  const query = { sysparm_input_display_value: "true", sysparm_exclude_reference_link: "true" };
  const { body: { result } } = await desk.ask("ada", `incident/${own}`, { method: "PUT", body, query });
  assert.deepEqual([result.urgency, result.assignment_group, result.due_date], [
    "1",
    sysId("99"),
    "2026-06-01 15:00:00",
  ]);
  const words = await patch(desk, "ada", `incident/${own}`, { urgency: "high", state: "In Progress" });
  assert.deepEqual([words.body.result.urgency, words.body.result.state], ["1", "1"]);
  desk.instance.habits.wordsInInteger = "emptied";
  assert.equal((await patch(desk, "ada", `incident/${own}`, { urgency: "high" })).body.result.urgency, "");
});
