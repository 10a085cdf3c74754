/** What a desk lead does each day: history, several records, delegations, next states, SLAs. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { type Desk, openDesk } from "./desk_place.ts";

const history = (desk: Desk, id = "INC0010001") => desk.text("servicenow_get_record", { id, include: "history" });

Deno.test("include=history tells who changed which field and when, with names for what is stored", async () => {
  await using desk = await openDesk({ instance: { habits: { history: "audit" } } });
  const values = { assignment_group: "Network", assigned_to: "Ada Lovelace", state: "In Progress" };
  await desk.text("servicenow_update", { id: "INC0010001", values: JSON.stringify({ ...values, urgency: "3" }) });
  await desk.text("servicenow_update", { id: "INC0010001", values: { assigned_to: "" } });
  const text = await history(desk);
  assert.match(text, /^history \(newest first; of the fields that the instance audits and the user may read\):$/m);
  assert.match(text, /^- 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC ada\n {4}.*assigned_to Ada Lovelace → \(empty\)/m, text);
  assert.match(text, /urgency 2 - Medium → 3 - Low|urgency 1 - High → 3 - Low/, text);
  const [, model] = [...desk.instance.tables.get("sys_audit") ?? []][0] ?? assert.fail();
  for (const [at, fieldname] of ["title", "home_phone"].entries()) {
    const change = { sys_id: sysId("f2", at), tablename: "sys_user", documentkey: sysId("a1"), fieldname };
    desk.instance.tables.get("sys_audit")?.set(change.sys_id, { ...model, ...change, oldvalue: "1", newvalue: "2" });
  }
  Object.assign(desk.instance.tables.get("sys_user")?.get(sysId("a1")) ?? {}, { home_phone: "2" });
  const person = await desk.text("servicenow_get_record", { id: "me", include: "history" });
  assert.match(person, /title 1 → 2/);
  assert.doesNotMatch(person, /home_phone/, "people show a fixed list of fields");
});

Deno.test("history that the user may not read is said to be not known, and is read from the other table where that is open", async () => {
  await using desk = await openDesk({ instance: { habits: { history: "admin_only" } } });
  await desk.text("servicenow_update", { id: "INC0010001", values: { urgency: "Low" } });
  for (const hiddenTableAnswer of ["forbidden", "empty"] as const) {
    desk.instance.habits.hiddenTableAnswer = hiddenTableAnswer;
    assert.match(
      await history(desk),
      /^history: NOT known: ServiceNow shows this user no history of its fields\. It was changed 1 times, last by ada/m,
    );
  }
  desk.instance.habits.history = "history_set";
  const set = { sys_id: sysId("f0", 1), table: "incident", id: sysId("1c", 1) };
  desk.instance.tables.get("sys_history_set")?.set(set.sys_id, set);
  const line = { set: set.sys_id, field: "assigned_to", old: "Ben Bitdiddle", new: "Ada Lovelace", user_name: "jonas" };
  const lines = desk.instance.tables.get("sys_history_line");
  lines?.set(sysId("f1", 1), { sys_id: sysId("f1", 1), ...line, update_time: "2026-03-02 09:00:00" });
  lines?.set(sysId("f1", 2), {
    sys_id: sysId("f1", 2),
    ...line,
    set: sysId("f0", 2),
    update_time: "2026-03-02 09:00:00",
  });
  const text = await history(desk);
  assert.match(text, /^- 2026-03-02 09:00:00 UTC jonas\n {4}assigned_to Ben Bitdiddle → Ada Lovelace$/m, text);
});

Deno.test("several records are read in one call, each under its number, and what is missing is named", async () => {
  await using desk = await openDesk();
  const text = await desk.text("servicenow_get_record", { id: "INC0010001, CHG0030001", fields: "short_description" });
  assert.match(text, /^text of records is data.*\n\nINC0010001 \(incident[^]*\n\nCHG0030001 \(change_request/);
  const partly = await desk.text("servicenow_get_record", { id: "INC0010001 INC0019999" });
  assert.match(
    partly,
    /^refused \(servicenow_not_found\): text of.*\n\nINC0010001 \(incident[^]*\n\nINC0019999: Record not found/,
  );
  const many = Array.from({ length: 11 }, (_, at) => `INC00100${at + 10}`).join(",");
  assert.match(await desk.text("servicenow_get_record", { id: many }), /at most 10 records/);
});

Deno.test("an update of several records sends nothing unless all can take it, and then tells each result", async () => {
  await using desk = await openDesk();
  const urgency = (number: number) => desk.instance.tables.get("incident")?.get(sysId("1c", number))?.["urgency"];
  const before = [urgency(1), urgency(2)];
  const writes = () => desk.instance.requests.filter(({ method }) => method === "PATCH").length;
  const refused = await desk.text("servicenow_update", {
    id: "INC0010001,INC0019998,INC0019999",
    values: { urgency: "Low" },
  });
  assert.match(refused, /^refused \(servicenow_not_found\): Nothing was sent: not all could be changed\./);
  assert.match(refused, /INC0019998: Record not found[^]*INC0019999: Record not found/);
  const trial = await desk.text("servicenow_update", {
    ...{ id: "INC0010001,INC0010002", values: { urgency: "Low" }, dry_run: true },
  });
  assert.match(trial, /^Dry run, nothing sent\. INC0010001 would get:[^]*\n\nDry run, nothing sent\. INC0010002/);
  assert.match(
    await desk.text("servicenow_update", { id: "INC0010001,INC0010002", values: { urgency: "Low" }, if_version: "0" }),
    /if_version is of one record/,
  );
  assert.deepEqual([writes(), urgency(1), urgency(2)], [0, ...before]);
  const done = await desk.text("servicenow_update", { id: "INC0010001,INC0010002", values: { urgency: "Low" } });
  assert.match(done, /^INC0010001 \(incident, version \d+\)[^]*urgency[^]*\n\nINC0010002 \(incident, version \d+\)/);
  assert.deepEqual([urgency(1), urgency(2)], ["3", "3"]);
});

Deno.test("what waits for me includes what ServiceNow delegates to me, and says for whom", async () => {
  await using desk = await openDesk({ people: ["ada", "eve"], instance: { data: "desk" } });
  const search = (where: string, user = "eve") =>
    desk.text("servicenow_search", { table: "sysapproval_approver", where: `${where}\nstate=Requested` }, user);
  const delegation = {
    ...{ sys_id: sysId("dd"), user: sysId("c3"), delegate: sysId("e5"), approvals: "true" },
    ...{ starts: "2026-01-01 00:00:00", ends: "2027-01-01 00:00:00" },
  };
  const delegates = desk.instance.tables.get("sys_user_delegate");
  const wrong = [{ ends: "2026-02-01 00:00:00" }, { starts: "2026-12-01 00:00:00" }, { approvals: "false" }, {
    delegate: sysId("a1"),
  }];
  for (const change of wrong) {
    delegates?.set(delegation.sys_id, { ...delegation, ...change });
    assert.doesNotMatch(await search("approver=me"), /CHG0030004|delegate/, JSON.stringify(change));
  }
  delegates?.set(delegation.sys_id, delegation);
  const waiting = await search("approver=me");
  assert.match(waiting, /approver is .* or Cleo Krause \(the user is a delegate\)/);
  assert.match(waiting, /CHG0030004, approver Cleo Krause, Renew the certificate of the VPN gateway/, waiting);
  assert.doesNotMatch(await search("approver=Cleo Krause"), /delegate/, "a name means that person alone");
  assert.doesNotMatch(await search("approver=me", "ada"), /Cleo Krause/);
});

Deno.test("a state that does not follow is refused with those that usually do, and describe lists them", async () => {
  await using desk = await openDesk();
  const described = await desk.text("servicenow_describe", { table: "change_request", field: "state" });
  assert.match(described, /^Usual in the base system, and perhaps not in this instance:$/m);
  assert.match(described, /^normal, from New to Assess, Canceled$/m);
  const made = await desk.text("servicenow_create", {
    table: "change_request",
    values: { short_description: "Replace the disk", type: "Normal", assignment_group: "Network" },
  });
  const number = /CHG\d+/.exec(made)?.[0] ?? "";
  const refuse = () => desk.text("servicenow_update", { id: number, values: { state: "Implement" } });
  assert.match(await refuse(), /ServiceNow lets it go from New to Assess, Canceled\. The record is New/);
  desk.instance.habits.closedApis = ["sn_chg_rest"];
  assert.match(
    await refuse(),
    /Usual in the base system, [^:]*: normal, from New to Assess, Canceled\. The record is New/,
  );
  const whole = await desk.text("servicenow_describe", { table: "incident" });
  assert.doesNotMatch(whole, /Usual in/);
});

Deno.test("open SLAs, soonest breach first", async () => {
  await using desk = await openDesk();
  const text = await desk.text("servicenow_search", {
    ...{ table: "task_sla", where: "active=true\nhas_breached=false", order_by: "planned_end_time", limit: 50 },
  });
  const ends = [...text.matchAll(/planned_end_time ([\d-]+ [\d:]+)/g)].map(([, at = ""]) => at);
  assert.deepEqual(ends, ends.toSorted());
});

Deno.test("figures by day and week on the person's calendar, with the mean time between two dates", async () => {
  await using desk = await openDesk();
  const incidents = [...desk.instance.tables.get("incident")?.values() ?? []];
  for (const record of incidents) Object.assign(record, { resolved_at: "", opened_at: "2026-01-05 08:00:00" });
  const set = (at: number, opened: string, resolved: string) =>
    Object.assign(incidents[at] ?? {}, { opened_at: opened, resolved_at: resolved, urgency: "1" });
  set(0, "2026-03-02 08:00:00", "2026-03-02 10:00:00");
  set(1, "2026-03-08 23:30:00", "2026-03-09 03:30:00");
  set(2, "2026-03-09 08:00:00", "");
  const ada = [...desk.instance.tables.get("sys_user")?.values() ?? []].find((each) => each["user_name"] === "ada");
  const count = (input: object) =>
    desk.text("servicenow_count", {
      table: "incident",
      where: "opened_at between 2026-03-02 and 2026-03-10",
      ...input,
    });
  Object.assign(ada ?? {}, { time_zone: "Europe/Berlin" });
  const mean = { mean_time: "opened_at, resolved_at" };
  const weeks = await count({ group_by: "opened_at by week", ...mean });
  assert.match(weeks, /^incident: \d+ that the user may see, .*; mean 3\.0 h of 2 with both dates\n/, weeks);
  assert.match(
    weeks,
    /^week of 2026-03-02: \d+; mean 2\.0 h of 1 with both dates\nweek of 2026-03-09: \d+; mean 4\.0 h of 1/m,
    weeks,
  );
  const days = await count({ group_by: "Opened by day" });
  assert.match(days, /^2026-03-02: \d+$/m);
  assert.match(days, /^2026-03-09: \d+$/m);
  assert.doesNotMatch(days, /^2026-03-08|mean/m, "half past midnight in Berlin");
  assert.match(await count({ group_by: "opened_at by month" }), /^2026-03: \d+$/m);
  assert.match(await count({ group_by: "state by day" }), /state is no date/);
  assert.match(await count({ mean_time: "opened_at" }), /mean_time takes two dates/);
  assert.match(await count({ mean_time: "opened_at,state" }), /mean_time takes two dates/);
  const reversed = await count({ group_by: "urgency", mean_time: "resolved_at, opened_at" });
  assert.match(reversed, /; mean -3\.0 h of 2 with both dates \(the first date is the later one\)\n/, reversed);
  assert.match(await count({ group_by: "urgency", ...mean }), /High: \d+; mean 3\.0 h of 2 with both dates/);
});

Deno.test("include=similar finds resolved incidents with the title's words, the most alike first", async () => {
  await using desk = await openDesk();
  const incidents = [...desk.instance.tables.get("incident")?.values() ?? []];
  const set = (at: number, title: string, resolved: string) =>
    Object.assign(incidents[at] ?? {}, {
      ...{ short_description: title, state: "7", resolved_at: resolved, close_notes: `fixed ${at}` },
    });
  set(3, "The server room is warm", "2026-03-05 08:00:00");
  set(4, "Email server went down again", "2026-03-01 08:00:00");
  const text = await desk.text("servicenow_get_record", { id: "INC0010001", include: "similar" });
  assert.match(
    text,
    /similar \(.*most words in common first\):\n- INC\d+ Email server went down again\n.*close_notes fixed 4/,
    text,
  );
  assert.match(text, /The server room is warm/);
  assert.ok(!text.slice(text.indexOf("similar (")).includes("INC0010001"));
  assert.match(await desk.text("servicenow_get_record", { id: "CHG0030001", include: "similar" }), /has no similar/);
});

Deno.test("states are those of the instance: what the base system has by other names is not assumed", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const describe = (table: string) => desk.text("servicenow_describe", { table, field: "state" });
  assert.match(await describe("problem"), /Usual in the base system/);
  assert.match(await describe("sc_task"), /Which state may follow which is NOT known/);

  await using other = await openDesk({ instance: { data: "desk" } });
  // an instance where 6 is a state of work that goes on
  for (const choice of other.instance.tables.get("sys_choice")?.values() ?? []) {
    const isState = choice["name"] === "incident" && choice["element"] === "state" && choice["value"] === "6";
    if (isState) choice["label"] = "Waiting for parts";
  }
  const resolved = [...other.instance.tables.get("incident")?.values() ?? []].find((each) =>
    each["state"] === "6" && each["active"] === "true"
  );
  assert.ok(resolved !== undefined);
  const open = await other.text("servicenow_search", { table: "incident", where: "state=open", limit: 50 });
  assert.ok(open.includes(resolved["number"] ?? ""), open);
  const told = await other.text("servicenow_update", { id: "INC0010016", values: { state: "Waiting for parts" } });
  assert.doesNotMatch(told, /must be given for this change/, "what the base system asks for is not asked for");
  assert.doesNotMatch(
    await other.text("servicenow_describe", { table: "incident", field: "state" }),
    /Resolved|to .*parts/,
  );
});

Deno.test("where the instance shows no states, open work is told by those of the base system, and said to be so", async () => {
  await using desk = await openDesk({ instance: { data: "desk", habits: { metadata: "admin_only" } } });
  for (const table of ["incident", "task"]) {
    assert.match(
      await desk.text("servicenow_search", { table, where: "state=open" }),
      /state is open \(active and not resolved, by the states of the base system: this instance does not show its own\)/,
    );
  }
});
