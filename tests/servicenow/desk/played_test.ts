/** What agents that saw the list of tools alone were misled by. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { openDesk } from "./desk_place.ts";

Deno.test("an include that does not fit the table is refused, never told as none", async () => {
  await using desk = await openDesk();
  for (const kind of ["items", "members", "on_call"]) {
    const text = await desk.text("servicenow_get_record", { id: "INC0010001", include: kind });
    assert.match(text, new RegExp(`a record of incident has no ${kind}`));
  }
  assert.match(await desk.text("servicenow_get_record", { id: "me", include: "members" }), /^members/m);
});

Deno.test("several values in one line are refused before anything is sent, and understood as lines or JSON", async () => {
  await using desk = await openDesk();
  const update = (values: string) => desk.text("servicenow_update", { id: "INC0010001", values, dry_run: true });
  for (
    const line of [
      "short_description=A; b, urgency=High",
      "short_description=Mail, state=In Progress",
      "short_description=Mail and state=New",
    ]
  ) {
    assert.match(
      await update(line),
      /stands in the value of short_description; give a JSON object: \{"short_description": "…", "\w+": "…"\}$/,
    );
  }
  for (
    const values of ["urgency=High\nshort_description=Mail; b, c", '{"short_description":"Mail, a=b","urgency":"High"}']
  ) {
    assert.match(await update(values), /short_description/);
    assert.doesNotMatch(await update(values), /stands in the value/);
  }
});

Deno.test("several values in a condition are alternatives, never one value that nothing has", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const find = async (where: string) => {
    const text = await desk.text("servicenow_search", { table: "incident", where, limit: 50 });
    assert.doesNotMatch(text, /^refused/, where);
    return new Set(text.match(/^INC\d{7}/gm) ?? []);
  };
  for (
    const where of [
      "number in INC0010001, INC0010002",
      "number in (INC0010001,INC0010002)",
      "number = INC0010001, INC0010002",
      "number=INC0010001|INC0010002",
      "Number is INC0010001 or INC0010002",
    ]
  ) assert.deepEqual(await find(where), new Set(["INC0010001", "INC0010002"]), where);
  assert.ok(!(await find("number not in INC0010001, INC0010002")).has("INC0010001"));
  const [server, battery] = ["short_description contains server", "short_description contains battery"];
  const both = new Set([...await find(server), ...await find(battery)]);
  assert.ok(both.size >= 2);
  for (const words of ["server or battery", "server|battery", "server, battery", "(server, battery)"]) {
    assert.deepEqual(await find(`short_description contains ${words}`), both, words);
  }
  assert.deepEqual(await find("short_description does not contain e or a"), new Set());
  for (const like of ["like %server%", "LIKE '%server%'"]) {
    assert.deepEqual(await find(`short_description ${like}`), await find(server), `${like}, as in SQL`);
  }
  assert.equal((await find("short_description contains %server%")).size, 0, "a percent sign is itself elsewhere");
  assert.equal((await find('short_description contains "server or battery"')).size, 0, "quotes keep a text whole");
  assert.deepEqual(await find("short_description = Email server is down"), new Set(["INC0010001"]));
  assert.deepEqual(await find("priority in 1,2"), await find("priority=1|2"));
  assert.match(
    await desk.text("servicenow_search", { table: "incident", where: "reassignment_count in 1, x" }),
    /number/,
  );
});

Deno.test("open is what is active and not resolved, on tables whose states have no such label and on all tasks", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const rows = (table: string) => [...desk.instance.tables.get(table)?.values() ?? []];
  const count = async (table: string, where: string) =>
    Number(/: (\d+) that/.exec(await desk.text("servicenow_count", { table, where }))?.[1]);
  const isVisible = (row: Readonly<Record<string, string>>) => row["assignment_group"] !== sysId("96");
  const open = rows("incident").filter((row) => row["active"] === "true" && row["state"] !== "6" && isVisible(row));
  for (const where of ["state=open", "state=not closed", "State = unresolved"]) {
    assert.equal(await count("incident", where), open.length, where);
  }
  const mine = "assigned_to=me\nstate=open";
  const all = await desk.text("servicenow_search", { table: "task", where: mine, limit: 50 });
  assert.match(all, /state is open \(active and not resolved\)/);
  assert.match(all, /Incident \| priority .* \| state In Progress/);
  assert.doesNotMatch(all, /state Resolved/);
  assert.equal(await count("problem", "state=open"), rows("problem").length);
  const tasks = await desk.text("servicenow_search", { table: "sc_task", where: "state=open" });
  assert.match(tasks, /state is Open \(all that is not closed: active=true\)/, "a label of its own");
});

Deno.test("a person who has left is told as inactive, and a closed record as closed", async () => {
  await using desk = await openDesk({ people: ["ada", "dora"], instance: { data: "desk" } });
  const update = (id: string, values: string) => desk.text("servicenow_update", { id, values, dry_run: true });
  assert.match(
    await update("INC0010037", "assigned_to=ada.left"),
    /assigned_to: Ada Lovelace \(ada\.left, inactive\)$/,
  );
  const left = { table: "incident", where: "assigned_to=ada.left" };
  assert.match(await desk.text("servicenow_search", left), /assigned_to is Ada Lovelace \(ada\.left, inactive\)/);
  assert.match(await update("INC0010037, INC0010027", "urgency=1"), /INC0010037 would get:[^]*INC0010027 would get:/);
  const note = { id: "INC0010037, INC0010027", audience: "team", text: "x" };
  assert.match(await desk.text("servicenow_add_note", note), /id names one record: make a call for each/);
  const [closed] = [...desk.instance.tables.get("incident")?.values() ?? []].filter((row) => row["state"] === "7");
  const id = closed?.["number"];
  for (
    const text of [
      await desk.text("servicenow_update", { id, values: "urgency=1" }),
      await desk.text("servicenow_add_note", { id, audience: "team", text: "x" }),
    ]
  ) assert.match(text, /ACL Exception.*\. The record is Closed, and not active/);
  const early = { id: "PRB0040002", values: '{"state": "Fix in Progress", "cause_notes": "x", "assigned_to": "me"}' };
  assert.match(await desk.text("servicenow_update", early), /aborted by Business Rule.*\. The record is New$/);
  const decided = { id: "CHG0030004", decision: "approve" };
  assert.match(
    await desk.text("servicenow_approve", decided, "dora"),
    /waits for this user's approval; it waits for Cleo/,
  );
});

Deno.test("SLAs are listed with what they are about, and days go by the names of weekdays", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const slas = await desk.text("servicenow_search", { table: "task_sla", where: "planned_end_time=today" });
  assert.match(slas, /^INC\d{7}: Priority \d resolution .*, [A-Z].*\n {2}.*planned_end_time/m);
  // The stand-in's clock shows a Thursday.
  for (
    const [day, date] of [["next monday", "2026-06-01"], ["last friday", "2026-05-22"], ["next thursday", "2026-06-04"]]
  ) {
    const text = await desk.text("servicenow_update", { id: "INC0010001", values: `due_date=${day}`, dry_run: true });
    assert.match(text, new RegExp(`due_date: ${date} 07:00:00 UTC`), day);
  }
});

Deno.test("conditions joined on one line, ranges and likenesses mean what they say", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const find = (where: string) => desk.text("servicenow_search", { table: "incident", where });
  for (
    const where of [
      "short_description contains server and state=In Progress",
      "short_description like server AND state is In Progress and assigned_to is me",
      "opened_at between 2026-03-01 and 2026-03-01; state=In Progress",
      "opened_at is between 2026-02-28 and 2026-03-01 23:00\nshort_description contains server",
      "opened_at on 2026-03-01",
    ]
  ) assert.match(await find(where), /^incident: 1, [^]*INC0010001/, where);
  assert.match(await find("short_description = 'trial and error'"), /none.*short_description is trial and error$/);
  assert.match(
    await find('short_description = "state=New and x is y" and state=New'),
    /none.*short_description is state=New and x is y, state is New$/,
  );
  assert.match(await find("short_description contains trial and error"), /none.*contains trial and error$/);
  assert.match(await find("short_description contains Rebooted ^ twice"), /INC0010003/);
});

Deno.test("fields go by their labels in any language of the instance, in conditions and in values", async () => {
  await using desk = await openDesk({ people: ["cleo"], instance: { data: "desk" } });
  const found = { table: "incident", where: "Status=In Bearbeitung\nPriorität = Kritisch\nZugewiesen an ist = x" };
  assert.match(await desk.text("servicenow_search", found, "cleo"), /incident has no field Zugewiesen an ist/);
  found.where = "Status=In Bearbeitung\nPriorität = Kritisch and Zuweisungsgruppe=Network";
  assert.match(
    await desk.text("servicenow_search", found, "cleo"),
    /state is .*, priority is .*, assignment_group is Network/,
  );
  const values = "Priorität=2\nKurzbeschreibung=Neu";
  const planned = await desk.text("servicenow_update", { id: "INC0010001", values, dry_run: true }, "cleo");
  assert.match(planned, /^priority: [^]*^short_description: .* → Neu$/m);
  desk.instance.habits.metadata = "admin_only";
  desk.place.advance(601);
  assert.match(await desk.text("servicenow_search", found, "cleo"), /Status is not known here .*; did you mean state/);
});

Deno.test("conditions joined by or are alternatives, or are refused; none is lost in the value of the one before", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const count = async (where: string) => {
    const text = await desk.text("servicenow_count", { table: "incident", where });
    return Number(/^incident: (\d+)/.exec(text)?.[1] ?? assert.fail(text));
  };
  const [mine, free, both] = [
    await count("assigned_to=me"),
    await count("assigned_to is empty"),
    await count("assigned_to is me or assigned_to is empty"),
  ];
  assert.ok(mine > 0 && free > 0);
  assert.equal(both, mine + free);
  assert.equal(
    await count("state=Closed or priority=1\ncaller_id=ben"),
    await count("caller_id=ben\nstate=Closed") + await count("caller_id=ben\nstate!=Closed\npriority=1"),
  );
  const where = "short_description contains vpn OR description contains wireless";
  assert.equal(await count(where), await count("short_description contains vpn or wireless"));
  for (const joined of ["state=New or opened_at=today", "opened_at between 2026-01-01 and 2026-02-01 or state=New"]) {
    assert.match(await desk.text("servicenow_count", { table: "incident", where: joined }), /cannot be asked at once/);
  }
});

Deno.test("words in quotes are words; what would be looked for literally and found nowhere is refused", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const find = (input: object) => desk.text("servicenow_search", { table: "incident", ...input });
  assert.match(await find({ words: '"vpn drops"' }), /VPN drops/);
  assert.match(await find({ words: "vpn AND drops" }), /VPN drops/);
  for (const words of ["vpn -drops", "vpn OR wireless", "vpn NOT drops"]) {
    assert.match(await find({ words }), /words have all to occur/, words);
  }
  const sorted = await find({ order_by: "priority, -opened_at", limit: 3 });
  assert.match(sorted, /priority 1 - Critical[^]*priority 1 - Critical[^]*priority 1 - Critical/);
  assert.match(await find({ order_by: "priority, color" }), /no field color/);
  assert.match(await desk.text("servicenow_get_record", { id: "INC10016" }), /^INC0010016 /);
  const closed = await desk.text("servicenow_get_record", { id: "FAC0000001" });
  assert.match(closed, /there is no FAC0000001 that the user may see in the tables that are open here/);
  const bare = await desk.text("servicenow_get_record", { id: "10016", table: "incident" });
  assert.match(bare, /^INC0010016 /);
  const other = await desk.text("servicenow_get_record", { id: "0016 vpn 0099", table: "incident" });
  assert.match(other, /no incident "0016 vpn 0099" that the user may see/);
  assert.doesNotMatch(await desk.text("servicenow_get_record", { id: "zzz", table: "incident" }), /nearest/);
});
