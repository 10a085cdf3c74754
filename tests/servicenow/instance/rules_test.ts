/** Mandatory fields, state models, business rules and approvals of the stand-in. */
import assert from "node:assert/strict";
import { sysId, sysIdOf } from "../../fixtures/servicenow/world.ts";
import { type Desk, errorOf, openDesk } from "./desk.ts";

const mail = sysId("1c", 1);
const newChange = sysIdOf("change_request 0");

const patch = (desk: Desk, userName: string, path: string, body: unknown) =>
  desk.ask(userName, path, { method: "PATCH", body, query: { sysparm_exclude_reference_link: "true" } });
const create = (desk: Desk, userName: string, table: string, body: unknown) =>
  desk.ask(userName, table, { method: "POST", body, query: { sysparm_exclude_reference_link: "true" } });
const missing = (labels: string): string =>
  `403 Operation Failed: Data Policy Exception: The following fields are mandatory: ${labels}`;
const aborted = (table: string, rule: string): string =>
  `403 Operation Failed: Operation against file '${table}' was aborted by Business Rule '${rule}^${sysIdOf(rule)}'. ` +
  `Business Rule Stack:${rule}`;

Deno.test("incidents: resolving demands a code and notes, holding a reason, and nothing is saved without", async () => {
  await using desk = await openDesk();
  assert.equal(
    errorOf(await patch(desk, "ada", `incident/${mail}`, { state: "6", work_notes: "done" })),
    missing("Resolution code, Resolution notes"),
  );
  assert.equal(errorOf(await patch(desk, "ada", `incident/${mail}`, { state: "3" })), missing("On hold reason"));
  assert.deepEqual(desk.instance.journal(mail, "work_notes"), ["Disk full on mx-01."]);
  const body = { state: "6", close_code: "Solution provided", close_notes: "Deleted old logs." };
  const resolved = (await patch(desk, "ada", `incident/${mail}`, body)).body.result;
  assert.deepEqual([resolved.incident_state, resolved.resolved_by, resolved.active], ["6", sysId("a1"), "true"]);
  const reopened = (await patch(desk, "ada", `incident/${mail}`, { state: "2" })).body.result;
  assert.deepEqual([reopened.reopen_count, reopened.resolved_at], ["1", ""]);
  assert.equal(errorOf(await create(desk, "ben", "incident", { urgency: "1" })), missing("Short description, Caller"));
});

Deno.test("incidents: priority follows impact and urgency, whatever was sent", async () => {
  await using desk = await openDesk();
  const sent = { short_description: "Down", caller_id: sysId("b2"), impact: "1", urgency: "1", priority: "5" };
  const { status, body, headers } = await create(desk, "ada", "incident", sent);
  assert.equal(status, 201);
  assert.equal(body.result.priority, "1");
  assert.match(headers.get("location") ?? "", new RegExp(`/api/now/table/incident/${body.result.sys_id}$`));
  const lower = await patch(desk, "ada", `incident/${body.result.sys_id}`, { priority: "5" });
  assert.equal(lower.body.result.priority, "1");
});

Deno.test("incidents: an assignee outside of the group is emptied or refused; a new assignee starts the work", async () => {
  await using desk = await openDesk();
  const own = `incident/${sysId("1c", 2)}`;
  const started = (await patch(desk, "ada", own, { assigned_to: sysId("e5") })).body.result;
  assert.deepEqual([started.state, started.assigned_to], ["2", sysId("e5")]);
  const moved = (await patch(desk, "ada", own, { assignment_group: sysId("99") })).body.result;
  assert.deepEqual([moved.assigned_to, moved.reassignment_count], ["", "1"], "Eve is not in Network");
  assert.equal((await patch(desk, "ada", own, { assigned_to: sysId("e5") })).body.result.assigned_to, "");
  desk.instance.habits.foreignAssignee = "aborted";
  assert.equal(
    errorOf(await patch(desk, "ada", own, { assigned_to: sysId("e5") })),
    aborted("incident", "Assigned to must be in the group"),
  );
});

Deno.test("changes: states follow their order, and approvals make the moves that people may not", async () => {
  await using desk = await openDesk();
  const move = (state: string, more = {}) => patch(desk, "ada", `change_request/${newChange}`, { state, ...more });
  const jump = aborted("change_request", "Change Model: Check State Transition");
  for (const state of ["-3", "-2", "-1", "0", "3"]) assert.equal(errorOf(await move(state)), jump, state);
  assert.equal((await move("-4")).body.result.approval, "requested");
  assert.equal(errorOf(await move("-3")), jump, "assessing is not over");
  await approveFirst(desk, "ada", newChange);
  const read = async () => (await desk.ask("ada", `change_request/${newChange}`)).body.result;
  assert.deepEqual([(await read()).state, (await read()).approval], ["-3", "requested"]);
  await approveFirst(desk, "cleo", newChange);
  assert.deepEqual([(await read()).state, (await read()).approval], ["-2", "approved"]);
  assert.equal((await move("-1")).body.result.work_start, "2026-05-28 12:00:00");
  assert.equal((await move("0")).status, 200);
  assert.equal(errorOf(await move("4")), jump, "Review cannot be canceled");
  assert.equal(errorOf(await move("3")), missing("Close code, Close notes"));
  const closed = await move("3", { close_code: "successful", close_notes: "Went well." });
  assert.deepEqual([closed.body.result.state, closed.body.result.active], ["3", "false"]);
});

async function approveFirst(desk: Desk, userName: string, task: string): Promise<void> {
  const [asked] = await desk.find(
    userName,
    "sysapproval_approver",
    `sysapproval=${task}^approverDYNAMIC${me}^state=requested`,
  );
  const answered = await patch(desk, userName, `sysapproval_approver/${asked?.["sys_id"]}`, { state: "approved" });
  assert.equal(answered.status, 200, JSON.stringify(answered.body));
}
const me = "90d1921e5f510100a9ad2572f2b477fe";

Deno.test("changes: a rejection says why, returns the change, and is for its approver alone", async () => {
  await using desk = await openDesk();
  const change = sysIdOf("change_request 1"); // in Assess
  const asked = await desk.find("ada", "sysapproval_approver", `sysapproval=${change}^ORDERBYapprover.user_name`);
  assert.deepEqual(asked.map(({ approver }) => approver), [sysId("a1"), sysId("f6")]);
  const [own, other] = asked.map((each) => `sysapproval_approver/${each["sys_id"]}`);
  const update = "403 Operation Failed: ACL Exception Update Failed due to security constraints";
  assert.equal(errorOf(await patch(desk, "ada", other ?? "", { state: "approved" })), update);
  assert.equal(
    errorOf(await patch(desk, "ada", own ?? "", { state: "rejected" })),
    aborted("sysapproval_approver", "Approval state"),
  );
  const rejected = await patch(desk, "ada", own ?? "", { state: "rejected", comments: "Not in the freeze." });
  assert.equal(rejected.body.result.state, "rejected");
  const { state, approval } = (await desk.ask("ada", `change_request/${change}`)).body.result;
  assert.deepEqual([state, approval], ["-5", "rejected"]);
  const [, spared] = await desk.find("ada", "sysapproval_approver", `sysapproval=${change}^ORDERBYapprover.user_name`);
  assert.equal(spared?.["state"], "not_required");
  assert.equal(
    errorOf(await patch(desk, "ada", own ?? "", { state: "approved" })),
    aborted("sysapproval_approver", "Approval state"),
  );
});

Deno.test("changes: an instance may let a rejection pass without a reason", async () => {
  await using desk = await openDesk({ habits: { rejectionComment: "optional" } });
  const query = `approverDYNAMIC${me}^state=requested^source_table=change_request`;
  const [asked] = await desk.find("ada", "sysapproval_approver", query);
  const rejected = await patch(desk, "ada", `sysapproval_approver/${asked?.["sys_id"]}`, { state: "rejected" });
  assert.equal(rejected.status, 200);
  const { state, approval } = (await desk.ask("ada", `change_request/${asked?.["sysapproval"]}`)).body.result;
  assert.deepEqual([state, approval], ["-5", "rejected"]);
});

Deno.test("changes: where all of a group have to agree, one answer is not enough", async () => {
  await using desk = await openDesk({ habits: { groupApproval: "all" } });
  const change = sysIdOf("change_request 1");
  const state = async () => (await desk.ask("ada", `change_request/${change}`)).body.result.state;
  await approveFirst(desk, "ada", change);
  assert.equal(await state(), "-4");
  await approveFirst(desk, "jonas.keller", change);
  assert.equal(await state(), "-3");
});

Deno.test("changes: the end has to come after the start, and assessing needs a group", async () => {
  await using desk = await openDesk();
  const times = { start_date: "2026-06-02 08:00:00", end_date: "2026-06-01 08:00:00" };
  assert.equal(
    errorOf(await patch(desk, "ada", `change_request/${newChange}`, times)),
    aborted("change_request", "Planned end date after start date"),
  );
  const { body } = await create(desk, "ada", "change_request", { short_description: "New disks", state: "-1" });
  assert.deepEqual([body.result.state, body.result.type, body.result.requested_by], ["-5", "normal", sysId("a1")]);
  assert.equal(
    errorOf(await patch(desk, "ada", `change_request/${body.result.sys_id}`, { state: "-4" })),
    missing("Assignment group"),
  );
});

Deno.test("changes: standard ones need no approval, emergencies only that of the board", async () => {
  await using desk = await openDesk();
  for (const [type, first, refused] of [["standard", "-2", "-4"], ["emergency", "-3", "-2"]] as const) {
    const { body } = await create(desk, "ada", "change_request", {
      short_description: "Patch",
      type,
      start_date: "2026-06-01 08:00:00",
      end_date: "2026-06-01 09:00:00",
    });
    const path = `change_request/${body.result.sys_id}`;
    const jump = aborted("change_request", "Change Model: Check State Transition");
    assert.equal(errorOf(await patch(desk, "ada", path, { state: refused })), jump, type);
    assert.equal((await patch(desk, "ada", path, { state: first })).status, 200, type);
    if (type === "standard") continue;
    await approveFirst(desk, "cleo", body.result.sys_id);
    assert.equal((await desk.ask("ada", path)).body.result.state, "-2");
  }
});

Deno.test("tables of an instance's own extend task, with mandatory fields of theirs", async () => {
  await using desk = await openDesk();
  const table = "u_facility_request";
  assert.equal(errorOf(await create(desk, "ada", table, { short_description: "Dark" })), missing("Room"));
  const { body } = await create(desk, "ada", table, { short_description: "Dark", u_room: "7.12", u_kind: "keys" });
  assert.equal(body.result.number, "FAC0010001");
  const own = await desk.find("ben", "task", "sys_class_name=u_facility_request", "number");
  assert.deepEqual(own, [{ number: "FAC0000001" }], "an employee sees what he opened");
});

Deno.test("problems: from New to Closed in their order, with cause and fix", async () => {
  await using desk = await openDesk();
  const { body } = await create(desk, "ada", "problem", { short_description: "Disks fill up", state: "106" });
  const problem = `problem/${body.result.sys_id}`;
  assert.equal(body.result.state, "101");
  assert.equal(
    errorOf(await patch(desk, "ada", problem, { state: "104" })),
    aborted("problem", "Problem State Transition"),
  );
  await patch(desk, "ada", problem, { state: "102" });
  assert.equal(errorOf(await patch(desk, "ada", problem, { state: "103" })), missing("Assigned to"));
  await patch(desk, "ada", problem, { state: "103", assigned_to: sysId("a1") });
  const fix = { state: "106", resolution_code: "fix_applied", cause_notes: "<p>Logs</p>", fix_notes: "<p>Rotate</p>" };
  assert.equal(errorOf(await patch(desk, "ada", problem, { ...fix, fix_notes: "<p></p>" })), missing("Fix notes"));
  assert.equal((await patch(desk, "ada", problem, fix)).body.result.problem_state, "106");
  const linked = await patch(desk, "ada", `incident/${mail}`, { problem_id: body.result.sys_id });
  assert.equal(linked.status, 200);
  assert.equal((await desk.ask("ada", problem)).body.result.related_incidents, "1");
});
