/** Nothing is written that was not meant: other tables' sys_ids, pasted lines, a colleague's work, lists of people. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { type Desk, openDesk } from "../desk/desk_place.ts";

const incident = (desk: Desk, number = "INC0010016") =>
  [...desk.instance.tables.get("incident")?.values() ?? []].find((each) => each["number"] === number) ?? {};
const writes = (desk: Desk) => desk.instance.requests.filter(({ method }) => method !== "GET").length;

Deno.test("a sys_id of another table, or of nothing, is refused in values, conditions and answers", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  for (
    const [field, id] of [
      ["assignment_group", sysId("f6")],
      ["assigned_to", sysId("99")],
      ["cmdb_ci", sysId("a1")],
      ["problem_id", "0".repeat(32)],
      ["parent_incident", "ABCDEF".repeat(6).slice(0, 32)],
      ["watch_list", sysId("99")],
    ] as const
  ) {
    const refused = new RegExp(`${field}: no .* with the sys_id .* that the user may see`);
    assert.match(await desk.text("servicenow_update", { id: "INC0010016", values: `${field}=${id}` }), refused);
    const create = { table: "incident", values: JSON.stringify({ short_description: "x", [field]: id }) };
    assert.match(await desk.text("servicenow_create", create), refused);
    assert.match(await desk.text("servicenow_search", { table: "incident", where: `${field}=${id}` }), refused);
  }
  assert.equal(writes(desk), 0);
  const right = { id: "INC0010016", values: `assignment_group=${sysId("99")}\nassigned_to=${sysId("a1")}` };
  assert.match(await desk.text("servicenow_update", right), /assignment_group: .*Network\nassigned_to: .*Ada Lovelace/);
});

Deno.test("where people may not be looked up, a sys_id is sent as given, and the answer tells what came of it", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  desk.instance.habits.hiddenTables = ["sys_user_group"];
  const update = (id: string) => desk.text("servicenow_update", { id: "INC0010016", values: `assignment_group=${id}` });
  assert.match(await update(sysId("99")), /^INC0010016 [^:]*\n.*\nassignment_group: .*Network/);
  const dead = await update("f".repeat(32));
  assert.match(dead, /it is NOT known whether everything was taken[^]*assignment_group f{32}; it is empty/);
  await using narrow = await openDesk({ tables: ["incident"], instance: { data: "desk" } });
  const closed = { id: "INC0010016", values: { rfc: "f".repeat(32) } };
  assert.match(await narrow.text("servicenow_update", closed), /NOT known whether taken: rfc f{32}; it is empty/);
});

Deno.test("lines after a text are refused, pasted or not; JSON says what is meant", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  for (
    const values of [
      "description=First line\nurgency=1",
      "work_notes=From: x\n\nstate=Closed",
      "close_notes=a\nimpact=1",
    ]
  ) {
    const text = await desk.text("servicenow_update", { id: "INC0010016", values });
    assert.match(text, /the lines after \w+ may be part of its text .* give a JSON object/, values);
  }
  const answers = "short_description=Printer\nurgency=1 - High";
  assert.match(await desk.text("servicenow_order", { item: "Report an issue", answers }), /give a JSON object/);
  assert.equal(writes(desk), 0);
});

Deno.test("a colleague's change since the person was shown the record is not overwritten unseen", async () => {
  await using desk = await openDesk({ people: ["ada", "eve"], instance: { data: "desk" } });
  for (
    const look of [
      () => desk.text("servicenow_get_record", { id: "INC0010016" }),
      () => desk.text("servicenow_search", { table: "incident", where: "number=INC0010016" }),
      () => desk.text("servicenow_update", { id: "INC0010016", values: "impact=2" }),
    ]
  ) {
    await desk.text("servicenow_get_record", { id: "INC0010016" }, "eve");
    await look();
    await desk.text("servicenow_get_record", { id: "INC0010016" }, "eve");
    const was = incident(desk)["urgency"];
    await desk.text("servicenow_update", { id: "INC0010016", values: `urgency=${was === "1" ? "2" : "1"}` }, "eve");
    const refused = await desk.text("servicenow_update", { id: "INC0010016", values: "assigned_to=me" });
    assert.match(refused, /the record has changed: version \d+, by eve, .*give if_version=\d+/);
    const [, version] = /if_version=(\d+)/.exec(refused) ?? [];
    assert.match(
      await desk.text("servicenow_update", { id: "INC0010016", values: "assigned_to=me", if_version: version }),
      /assigned_to: /,
    );
  }
  assert.match(
    await desk.text("servicenow_update", { id: "INC0010016", values: "urgency=1", if_version: "abc" }),
    /if_version is no number; the record's version is \d+/,
  );
});

Deno.test("what the person does herself hides no colleague's change from the guard", async () => {
  await using desk = await openDesk({ people: ["ada", "eve"], instance: { data: "desk" } });
  const id = "INC0010016";
  const inServicenow = () => {
    const row = incident(desk);
    Object.assign(row, { sys_updated_by: "ada", sys_mod_count: String(Number(row["sys_mod_count"]) + 1) });
  };
  const own = {
    "a note": () => desk.text("servicenow_add_note", { id, audience: "team", text: "On it" }),
    "a change in ServiceNow itself": () => Promise.resolve(inServicenow()),
  };
  for (const [what, act] of Object.entries(own)) {
    await desk.text("servicenow_get_record", { id });
    await act();
    const alone = await desk.text("servicenow_update", { id, values: "impact=2" });
    assert.doesNotMatch(alone, /has changed/, `${what} alone`);
    await desk.text("servicenow_get_record", { id });
    await desk.text("servicenow_get_record", { id }, "eve");
    const urgency = incident(desk)["urgency"] === "1" ? "2" : "1";
    await desk.text("servicenow_update", { id, values: `urgency=${urgency}` }, "eve");
    await act();
    const before = writes(desk);
    assert.match(
      await desk.text("servicenow_update", { id, values: "assigned_to=me" }),
      /the record has changed/,
      what,
    );
    assert.equal(writes(desk), before);
  }
});

Deno.test("a change that comes between the look and the write is told", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  desk.instance.habits.meanwhile = () => {
    const row = incident(desk);
    Object.assign(row, { assigned_to: sysId("e5"), sys_mod_count: String(Number(row["sys_mod_count"]) + 1) });
  };
  const text = await desk.text("servicenow_update", { id: "INC0010016", values: "short_description=New title" });
  assert.match(text, /Version \d+ became \d+: another change came between/);
});

Deno.test("people are added to and removed from a list; none is lost unsaid", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const update = (values: string) => desk.text("servicenow_update", { id: "INC0010016", values });
  const list = () => incident(desk)["watch_list"];
  await update("watch_list=ben");
  assert.equal(list(), sysId("b2"));
  await update("watch_list=+eve, +stranger@example.org");
  assert.equal(list(), `${sysId("b2")},${sysId("e5")},stranger@example.org`);
  assert.match(await update("watch_list=ada"), /watch_list has Ben .*write \+NAME to add and -NAME to remove/);
  await update("watch_list=+ada, -ben");
  assert.equal(list(), `${sysId("e5")},stranger@example.org,${sysId("a1")}`);
  await update("watch_list=");
  assert.equal(list(), "");
});

Deno.test("a change of which the instance took nothing is a failure; values that stay are told as unchanged", async () => {
  await using desk = await openDesk({ people: ["ada", "ben"], instance: { data: "desk" } });
  const own = { id: "INC0010002", values: "assignment_group=Network" };
  const outcome = await desk.call("servicenow_update", own, "ben");
  assert.equal(outcome.ok, false);
  assert.match(await desk.text("servicenow_update", own, "ben"), /NOTHING was taken/);
  const urgency = incident(desk)["urgency"];
  assert.match(
    await desk.text("servicenow_update", { id: "INC0010016", values: `urgency=${urgency}` }),
    /\(unchanged\)/,
  );
});

Deno.test("a note that a person may write and not read is not said to be lost", async () => {
  await using desk = await openDesk({ instance: { data: "desk", habits: { hiddenFields: ["task.comments"] } } });
  const note = { id: "INC0010016", audience: "caller", text: "Please try again" };
  assert.match(await desk.text("servicenow_add_note", note), /NOT known whether taken: comments Please try again/);
  assert.equal(desk.instance.journal(incident(desk)["sys_id"] ?? "", "comments").at(-1), "Please try again");
});

Deno.test("a condition that the instance passes over is noticed", async () => {
  await using desk = await openDesk({ instance: { data: "desk", habits: { unreadableCondition: "ignored" } } });
  for (
    const where of [
      "caller_id.mobile_phone contains 79",
      "caller_id.mobile_phone=+1 555",
      "caller_id.mobile_phone does not contain 79",
      "caller_id.mobile_phone is empty",
    ]
  ) {
    for (const tool of ["servicenow_search", "servicenow_count"]) {
      assert.match(
        await desk.text(tool, { table: "incident", where }, "ben"),
        /ServiceNow shows this user no caller_id\.mobile_phone in incident and may have ignored the condition/,
      );
    }
  }
  desk.instance.habits.hiddenFields = ["task.assigned_to", "incident.assigned_to"];
  const work = await desk.text("servicenow_get_record", { id: "me", include: "work" });
  assert.match(
    work,
    /^work \(.*ServiceNow shows this user no assigned_to of task, so some may belong to other records/m,
  );
});

Deno.test("pictures in articles do not keep their text away; files of people stay unread", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const [article] = [...desk.instance.tables.get("kb_knowledge")?.values() ?? []].filter((each) =>
    each["workflow_state"] === "published"
  );
  const picture = `<img src="data:image/png;base64,${"A".repeat(2_700_000)}">`;
  Object.assign(article ?? {}, { text: `<p>Before</p>${picture}<p>After the picture</p>` });
  for (const fields of [undefined, "text"]) {
    const read = { id: article?.["number"], ...fields === undefined ? {} : { fields } };
    assert.match(await desk.text("servicenow_get_record", read), /After the picture/);
  }
  Object.assign(article ?? {}, { text: `<p>Before</p>${picture}${picture}` });
  const few = { id: article?.["number"], fields: "short_description,author" };
  assert.match(await desk.text("servicenow_get_record", { id: few.id }), /Record too large.* Read fewer fields/);
  assert.match(await desk.text("servicenow_get_record", few), /^short_description: .*\nauthor: /m);
  for (const table of ["sys_user", "sys_user_group"]) {
    const id = table === "sys_user" ? sysId("b2") : sysId("99");
    assert.match(
      await desk.text("servicenow_fetch_attachment", { id, table }),
      /files of people and groups are not read here/,
    );
    assert.match(await desk.text("servicenow_get_record", { id, table, include: "attachments" }), /are not read here/);
  }
});

Deno.test("a list of people that the user may not read is not written: those in it would be lost", async () => {
  await using desk = await openDesk({
    instance: { habits: { hiddenFields: ["incident.watch_list", "task.watch_list"] } },
  });
  const row = desk.instance.tables.get("incident")?.get(sysId("1c", 1)) ?? assert.fail();
  row["watch_list"] = sysId("b2");
  for (const watch_list of ["+eve", "eve", "-ben"]) {
    const text = await desk.text("servicenow_update", { id: "INC0010001", values: { watch_list } });
    assert.match(text, /^refused .*ServiceNow does not show this user watch_list/, watch_list);
  }
  assert.equal(row["watch_list"], sysId("b2"));
});

Deno.test("a value of a line is stored without the quotes that it stands in, and with those that are part of it", async () => {
  await using desk = await openDesk();
  const plan = (values: unknown) => desk.text("servicenow_update", { id: "INC0010001", values, dry_run: true });
  assert.match(await plan('short_description="Mail is down"'), /→ Mail is down$/);
  assert.match(await plan("urgency='1 - High'"), /urgency: .* → 1 - High$/);
  assert.match(await plan('short_description="Mail" is "down"'), /→ "Mail" is "down"$/);
  assert.match(await plan({ short_description: '"Mail is down"' }), /→ "Mail is down"$/);
});
