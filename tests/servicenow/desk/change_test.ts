import assert from "node:assert/strict";
import { sysId, sysIdOf } from "../../fixtures/servicenow/world.ts";
import { type Desk, openDesk } from "./desk_place.ts";

function stored({ instance }: Desk, table: string, id: string): Readonly<Record<string, string>> {
  return instance.tables.get(table)?.get(id) ?? {};
}

function writes({ instance }: Desk): number {
  return instance.requests.filter(({ method, path }) => method !== "GET" && path.startsWith("/api/")).length;
}

Deno.test("a dry run shows labels before and after, and sends nothing", async () => {
  await using desk = await openDesk();
  assert.equal(
    await desk.text("servicenow_update", {
      id: "INC0010001",
      values:
        '{"state": "Resolved", "close_code": "solution provided", "close_notes": "Disk cleaned", "assigned_to": "jonas.keller"}',
      dry_run: true,
    }),
    "Dry run, nothing sent. INC0010001 would get:\nstate: In Progress → Resolved\nclose_code: Solution provided\n" +
      "close_notes: Disk cleaned\nassigned_to: Ada Lovelace → Jonas Keller (jonas.keller)",
  );
  const created = await desk.text("servicenow_create", {
    table: "incident",
    values: '{"short_description": "Two lines", "description": "first\\nsecond", "urgency": "high"}',
    dry_run: true,
  });
  assert.match(created, /^Dry run, nothing sent\. A new incident would get:\n.*\ndescription: first\n {2}second\n/);
  assert.match(created, /caller_id: Ada Lovelace$/);
  const note = { id: "INC0010001", audience: "caller", text: "Hello", dry_run: true };
  assert.match(await desk.text("servicenow_add_note", note), /^Dry run, nothing sent[^]*comments: Hello$/);
  assert.equal(writes(desk), 0);
});

Deno.test("servicenow_update assigns, resolves and reopens by labels, and says what came of it", async () => {
  await using desk = await openDesk();
  const id = sysId("1c", 1);
  assert.match(
    await desk.text("servicenow_update", { id: "INC0010001", values: "assigned_to=jonas.keller\nurgency=low" }),
    /^INC0010001 \(incident, version 1\)\nhttp.*\nassigned_to: Ada Lovelace → Jonas Keller \(jonas\.keller\)\nurgency: 2 - Medium → 3 - Low\nServiceNow also set:\n[^]*priority: /,
  );
  assert.equal(stored(desk, "incident", id)["assigned_to"], sysId("f6"));
  const missing = await desk.text("servicenow_update", { id: "INC0010001", values: "state=Resolved" });
  assert.match(
    missing,
    /close_code and close_notes must be given for this change; close_code: .*Solution provided, .*\. Nothing was sent$/,
  );
  const values = "state=Resolved\nclose_code=Solution provided\nclose_notes=Cleaned";
  assert.match(await desk.text("servicenow_update", { id: "INC0010001", values }), /state: In Progress → Resolved/);
  assert.equal(stored(desk, "incident", id)["state"], "6");
  assert.match(
    await desk.text("servicenow_update", { id: "INC0010001", values: "state=In Progress" }),
    /state: Resolved → In Progress/,
  );
});

Deno.test("servicenow_update notices a record that has changed since it was read", async () => {
  await using desk = await openDesk();
  const update = (values: string) => desk.text("servicenow_update", { id: "INC0010003", values, if_version: "0" });
  assert.match(await update("urgency=high"), /version 1/);
  const before = writes(desk);
  assert.match(await update("urgency=low"), /the record has changed: version 1, by ada, .* UTC\. Read it again/);
  assert.equal(writes(desk), before);
});

Deno.test("what rights or rules drop is told, field by field", async () => {
  for (const foreignAssignee of ["cleared", "aborted"] as const) {
    await using desk = await openDesk({ instance: { habits: { foreignAssignee } } });
    const outsider = await desk.text("servicenow_update", {
      id: "INC0010002",
      values: "assignment_group=Network\nassigned_to=eve",
    });
    assert.match(
      outsider,
      foreignAssignee === "cleared"
        ? /NOT everything was taken[^]*NOT taken: assigned_to Eve Writer \(eve\); it is empty/
        : /Rejected by ServiceNow\. .*aborted by Business Rule/,
    );
    const values = '{"state": "Resolved", "close_code": "User error", "close_notes": "x", "description": "It smells"}';
    const bens = await desk.text("servicenow_update", { id: "INC0010002", values }, "ben");
    assert.match(bens, /^description: It smells$/m);
    assert.match(bens, /NOT taken: state Resolved; it is New/);
    assert.match(bens, /NOT taken: close_code User error/);
    const note = await desk.text("servicenow_add_note", { id: "INC0010002", audience: "team", text: "psst" }, "ben");
    assert.match(note, /NOT taken: work_notes psst; ServiceNow does not show the field to this user/);
    const jump = await desk.text("servicenow_update", { id: "CHG0030001", values: "state=Implement" });
    assert.match(jump, /Rejected by ServiceNow\. Operation Failed: .*Check State Transition/);
    const foreign = await desk.text("servicenow_update", { id: "INC0010001", values: "urgency=1" }, "ben");
    assert.match(foreign, /Record not found/);
  }
});

Deno.test("values that cannot be resolved are refused before anything is sent", async () => {
  await using desk = await openDesk();
  for (
    const [values, expected] of [
      ["state=Done", /state cannot be "Done"; its values: New \(1\)/],
      ["assigned_to=Jonas Keller", /ambiguous/],
      ["assigned_to=nobody here", /no person "nobody here"/],
      ["stat=New", /did you mean state\?/],
      ["urgency=1\nurgency=2", /gives urgency twice/],
      ["just words", /"just words" is not name=value/],
      ["description=first\nand a second line", /"and a second line" is not name=value.*JSON/],
      ["sys_created_by=eve", /kept by ServiceNow itself/],
      ["number=INC0000001", /kept by ServiceNow itself/],
      ["comments=Hello", /comments go to the caller: use servicenow_add_note/],
      ["due_date=soonish", /write one day or moment/],
      ['{"state": {"id": 6}}', /state takes one value: a text, a number, true or false/],
      ["{broken", /begins like JSON/],
      [" ", /values must name at least one field/],
    ] as const
  ) assert.match(await desk.text("servicenow_update", { id: "INC0010001", values }), expected, values);
  assert.match(
    await desk.text("servicenow_create", { table: "incident", values: "urgency=1" }),
    /must have short_desc/,
  );
  assert.equal(writes(desk), 0);
});

Deno.test("a note says to whom it goes, and nothing goes to the caller by default", async () => {
  await using desk = await openDesk();
  const note = { id: "INC0010002", text: "On its way\nto you" };
  assert.match(await desk.text("servicenow_add_note", note), /audience parameter is required/);
  await desk.text("servicenow_add_note", { ...note, audience: "team" });
  assert.deepEqual(desk.instance.journal(sysId("1c", 2), "comments"), []);
  assert.equal(desk.instance.journal(sysId("1c", 2), "work_notes").at(-1), note.text);
  assert.match(
    await desk.text("servicenow_add_note", { ...note, audience: "caller" }),
    /^comments: On its way\n {2}to you$/m,
  );
  assert.deepEqual(desk.instance.journal(sysId("1c", 2), "comments"), [note.text]);
  assert.match(await desk.text("servicenow_add_note", { ...note, audience: "caller", text: " " }), /must not be empty/);
});

Deno.test("a record can come from another: texts are copied, and both refer to each other", async () => {
  await using desk = await openDesk();
  const made = await desk.text("servicenow_create", { table: "problem", from: "INC0010001", values: "urgency=high" });
  assert.match(
    made,
    /^PRB0010001 \(problem[^]*first_reported_by_task: INC0010001[^]*INC0010001 refers to it now \(problem_id; version 1 of INC0010001\)$/,
  );
  const problem = [...desk.instance.tables.get("problem")?.values() ?? []].at(-1);
  assert.equal(problem?.["short_description"], "Email server is down");
  assert.equal(stored(desk, "incident", sysId("1c", 1))["problem_id"], problem?.["sys_id"]);
  assert.match(
    await desk.text("servicenow_create", { table: "change_task", from: "INC0010001", values: "short_description=x" }),
    /from names a record of incident, which makes no change_task, and makes problem, change_request, kb_knowledge/,
  );
});

Deno.test("the version that a new record is told with is the one it has, whatever it comes from", async () => {
  await using desk = await openDesk({ people: ["eve"], instance: { data: "desk" } });
  for (
    const [table, from, values] of [
      ["problem", "INC0010016", ""],
      ["change_request", "INC0010016", "type=Normal"],
      ["incident", "INC0010016", ""],
      ["incident", "PRB0040001", ""],
      ["incident", "CHG0030003", ""],
      ["kb_knowledge", "INC0010016", "kb_knowledge_base=IT\ntext=Restart it."],
      ["change_task", "CHG0030003", ""],
      ["sc_task", "RITM0010002", ""],
    ] as const
  ) {
    const text = await desk.text("servicenow_create", { table, from, ...(values === "" ? {} : { values }) }, "eve");
    const [, number, version] = /^([A-Z]+\d+) \(\w+, version (\d+)\)/.exec(text) ?? [];
    const made = [...desk.instance.tables.get(table)?.values() ?? []].find((row) => row["number"] === number);
    assert.equal(made?.["sys_mod_count"], version, text);
    const [, sourceVersion] = /version (\d+) of /.exec(text) ?? [];
    if (sourceVersion !== undefined) {
      const seen = await desk.text("servicenow_get_record", { id: from }, "eve");
      assert.match(seen, new RegExp(`^${from} \\(\\w+, version ${sourceVersion};`));
    }
  }
});

Deno.test("an approval is the user's own decision", async () => {
  await using desk = await openDesk({ people: ["ada", "ben", "cleo"] });
  assert.match(
    await desk.text("servicenow_update", { id: "CHG0030001", values: "state=Assess" }),
    /state: New → Assess/,
  );
  const mine = await desk.text("servicenow_search", { table: "approvals", where: "approver=me\nstate=Requested" });
  assert.match(mine, /CHG0030001, approver Ada/);
  const approve = (input: object, user = "ada") =>
    desk.text("servicenow_approve", { id: "CHG0030001", decision: "approve", ...input }, user);
  assert.match(await approve({}, "cleo"), /nothing about CHG0030001 waits for this user's approval/);
  assert.match(await approve({ decision: "reject" }), /comment is required to reject/);
  assert.match(
    await approve({ dry_run: true, comment: "fine" }),
    /^Dry run[^]*state: Requested → Approved\ncomments: fine$/,
  );
  assert.match(await approve({}), /state: Requested → Approved\nCHG0030001: approval Requested, state Authorize$/);
  assert.match(await approve({}), /nothing about CHG0030001 waits/);
  assert.match(
    await approve({ decision: "reject", comment: "Too risky" }, "cleo"),
    /Angefordert → Abgelehnt\nCHG0030001: approval Abgelehnt, state Neu$/,
  );
  const why = /^approvals:\n[^]*approver Cleo Krause, .*\n.*state Rejected.*comments .*Too risky/m;
  assert.match(await desk.text("servicenow_get_record", { id: "CHG0030001", include: "approvals" }), why);
  assert.match(await desk.text("servicenow_get_record", { id: "CHG0030001" }), why, "a rejected record says why");
  assert.doesNotMatch(await desk.text("servicenow_get_record", { id: "CHG0030001", fields: "state" }), /approvals/);
});

Deno.test("a change whose answer is lost is told as unknown, and never sent again", async () => {
  for (const fault of ["reset", "broken_off", "bad_gateway", "server_error"] as const) {
    await using desk = await openDesk();
    await desk.text("servicenow_describe", { table: "incident" });
    const before = writes(desk);
    desk.instance.faults.play(fault, { times: 9, path: /^\/api\/now\/table\/incident$/ });
    const text = await desk.text("servicenow_create", { table: "incident", values: "short_description=Once" });
    assert.match(text, /not known whether the change was saved: read the record before trying again/, fault);
    assert.equal(writes(desk) - before, 1, fault);
  }
});

Deno.test("a change whose token was ended before its time is sent again with a new one", async () => {
  await using desk = await openDesk();
  await desk.text("servicenow_describe", { table: "incident" });
  desk.instance.oauth.endAccessTokens();
  const text = await desk.text("servicenow_create", { table: "incident", values: "short_description=Again" });
  assert.match(text, /^INC0010016 /);
  assert.equal(desk.instance.tables.get("incident")?.size, 16);
});

Deno.test("people on a watch list go by name, and what a record inherits is told by name", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  await desk.text("servicenow_update", { id: "INC0010002", values: "watch_list=eve, ben" });
  assert.equal(stored(desk, "incident", sysId("1c", 2))["watch_list"], `${sysId("e5")},${sysId("b2")}`);
  assert.match(await desk.text("servicenow_search", { table: "incident", where: "watch_list=ben" }), /INC0010002/);
  assert.match(await desk.text("servicenow_create", { table: "problem", from: "INC0010025" }), /^cmdb_ci: db-01$/m);
});

Deno.test("a delegate decides for the one who named them, for the time and the work that ServiceNow says", async () => {
  await using desk = await openDesk({ people: ["ada", "eve"], instance: { data: "desk" } });
  const delegation = {
    ...{ sys_id: sysId("dd"), user: sysId("c3"), delegate: sysId("e5"), approvals: "true" },
    ...{ starts: "2026-01-01 00:00:00", ends: "2027-01-01 00:00:00" },
  };
  const delegates = desk.instance.tables.get("sys_user_delegate");
  const approve = (user: string, more: object = {}) =>
    desk.text("servicenow_approve", { id: "CHG0030004", decision: "approve", ...more }, user);
  const refusal = /waits for this user's approval; it waits for Cleo Krause/;
  assert.match(await approve("eve"), refusal);
  for (
    const wrong of [{ ends: "2026-02-01 00:00:00" }, { starts: "2026-12-01 00:00:00" }, { approvals: "false" }, {
      delegate: sysId("a1"),
      ends: "2026-02-01 00:00:00",
    }, { user: sysId("b2") }]
  ) {
    delegates?.set(delegation.sys_id, { ...delegation, ...wrong });
    assert.match(await approve("eve"), refusal, JSON.stringify(wrong));
    assert.match(await approve("ada"), refusal, JSON.stringify(wrong));
  }
  delegates?.set(delegation.sys_id, delegation);
  const inPlace = "Approval of CHG0030004 on behalf of Cleo Krause";
  assert.match(
    await approve("eve", { dry_run: true }),
    new RegExp(`^Dry run, nothing sent. ${inPlace} \\(Renew the certificate of the VPN gateway\\) would get:`),
  );
  assert.match(await approve("eve"), new RegExp(`^${inPlace} [^]*state: Requested → Approved`));
  assert.equal(stored(desk, "change_request", sysIdOf("change_request 2"))["state"], "-2");
});

Deno.test("a choice that depends on another field is the one of that field's value", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const rows = desk.instance.tables.get("sys_choice");
  for (const [at, category] of ["software", "hardware"].entries()) {
    const own = {
      name: "incident",
      element: "subcategory",
      value: `other_${category}`,
      label: "Other",
      language: "en",
    };
    const id = sysIdOf(`other ${at}`);
    rows?.set(id, { sys_id: id, ...own, dependent_value: category, sequence: "9", inactive: "false" });
  }
  const subcategory = () =>
    [...desk.instance.tables.get("incident")?.values() ?? []]
      .find(({ number }) => number === "INC0010016")?.["subcategory"];
  const update = (values: object) => desk.text("servicenow_update", { id: "INC0010016", values });
  await update({ category: "Hardware", subcategory: "Other" });
  assert.equal(subcategory(), "other_hardware");
  await update({ category: "Software" });
  await update({ subcategory: "Other" });
  assert.equal(subcategory(), "other_software");
});
