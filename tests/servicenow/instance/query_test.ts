/** Encoded queries as the stand-in understands them. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { errorOf, openDesk } from "./desk.ts";

Deno.test("encoded queries: each operator finds what the documentation says", async () => {
  await using desk = await openDesk({ data: "small" });
  for (
    const [query, expected] of [
      ["number=INC0010001", [1]],
      ["number=inc0010001", [1]],
      ["state!=7", [1, 2, 3]],
      ["short_descriptionLIKEserver", [1]],
      ["short_description*server", [1]],
      ["short_descriptionNOT LIKEIncident", [1, 2, 3]],
      ["short_description!*Incident", [1, 2, 3]],
      ["short_descriptionSTARTSWITHlaptop", [2]],
      ["short_descriptionENDSWITHslow", [3]],
      ["short_description%slow", [3]],
      ["numberININC0010001,INC0010003", [1, 3]],
      ["stateNOT IN7,2", [2, 3]],
      ["assigned_toISNOTEMPTY", [1]],
      ["assigned_toISEMPTY^active=true", [2, 3]],
      ["sys_created_on>=2026-03-02 00:00:00^sys_created_on<=2026-03-03 23:59:59", [2, 3]],
      ["sys_created_onBETWEEN2026-03-02 00:00:00@2026-03-03 23:59:59", [2, 3]],
      ["priority<3", [1]],
      ["caller_idSAMEASassigned_to", [1]],
      ["active=true^caller_idNSAMEASassigned_to", [2, 3]],
      ["caller_idLIKEBitdiddle", [2]],
      ["caller_id.user_name=ben", [2]],
      ["caller_id.manager.name=Ada Lovelace", [2]],
      ["assignment_group.name=Network", [1]],
      ["number=INC0010001^ORnumber=INC0010002^active=true", [1, 2]],
      ["number=INC0010001^NQnumber=INC0010002", [1, 2]],
      ["short_descriptionLIKERebooted ^^ twice", [3]],
      ["123TEXTQUERY321=down email", [1]],
      ["123TEXTQUERY321=emai", []],
      ["IR_OR_QUERY=battery server", [1, 2]],
      ["caller_id=javascript:gs.getUserID()^assigned_toISNOTEMPTY", [1]],
      ["assigned_toDYNAMIC90d1921e5f510100a9ad2572f2b477fe", [1]],
      ["assignment_groupDYNAMICd6435e965f510100a9ad2572f2b47744", [1]],
      ["assignment_group=javascript:gs.getUser().getMyGroups()", [1]],
      ["numberININC0010001,INC0010002^ORDERBYDESCnumber", [2, 1]],
      ["numberININC0010001,INC0010002^ORDERBYassigned_to^EQ", [2, 1]],
    ] as const
  ) {
    const found = await desk.find(
      "ada",
      "incident",
      query.includes("ORDERBY") ? query : `${query}^ORDERBYnumber`,
      "number",
    );
    assert.deepEqual(found.map((each) => Number(each["number"]?.slice(3)) - 10_000), expected, query);
  }
});

Deno.test("encoded queries: periods begin and end in the time zone of the user", async () => {
  await using desk = await openDesk({ data: "small" });
  const incident = desk.instance.tables.get("incident")?.get(sysId("1c", 1));
  assert.ok(incident !== undefined);
  for (
    const [opened, query, ada, cleo] of [
      // It is 05:00 of the 28th in San Diego and 14:00 in Berlin.
      ["2026-05-28 06:00:00", "ONToday@javascript:gs.beginningOfToday()@javascript:gs.endOfToday()", 0, 1],
      ["2026-05-28 06:00:00", "ONYesterday@javascript:gs.beginningOfYesterday()@javascript:gs.endOfYesterday()", 1, 0],
      ["2026-05-25 08:00:00", ">=javascript:gs.beginningOfThisWeek()", 1, 1],
      ["2026-05-24 23:00:00", ">=javascript:gs.beginningOfThisWeek()", 0, 1],
      ["2026-05-20 12:00:00", "ONLast week@javascript:gs.beginningOfLastWeek()@javascript:gs.endOfLastWeek()", 1, 1],
      ["2026-05-20 12:00:00", ">javascript:gs.daysAgo(7)", 0, 0],
      ["2026-05-20 12:00:00", ">javascript:gs.daysAgo(9)", 1, 1],
      ["2026-05-28 11:30:00", "RELATIVEGT@hour@ago@1", 1, 1],
      ["2026-05-28 10:30:00", "RELATIVEGT@hour@ago@1", 0, 0],
      ["2026-05-20 06:30:00", ">=javascript:gs.dateGenerate('2026-05-20','00:00:00')", 0, 1],
    ] as const
  ) {
    incident["opened_at"] = opened;
    const conditions = `number=INC0010001^opened_at${query}`;
    assert.equal((await desk.find("ada", "incident", conditions)).length, ada, query);
    assert.equal((await desk.find("cleo", "incident", conditions)).length, cleo, query);
  }
});

Deno.test("encoded queries: an invalid part is ignored and finds everything, or by a property nothing", async () => {
  await using desk = await openDesk({ data: "small" });
  for (
    const query of ["no_such_field=x", "state==", "nonsense", "caller_id.no_such_field=x", "^ORDERBYno_such_field"]
  ) {
    desk.instance.habits.invalidQuery = "ignored";
    const all = await desk.find("ada", "incident", query);
    if (query !== "state==") assert.equal(all.length, 15, query);
    desk.instance.habits.invalidQuery = "no_rows";
    assert.equal((await desk.find("ada", "incident", query)).length, 0, query);
  }
});

Deno.test("encoded queries: a condition on a field that the user may not read is refused, or ignored", async () => {
  await using desk = await openDesk({ data: "small" });
  for (
    const query of [
      "cmdb_ci.name=db-01",
      "problem_id.number=PRB1",
      "work_notesISEMPTY",
      "caller_id.user_passwordSTARTSWITH{",
      "ORDERBYcaller_id.user_password",
    ]
  ) {
    desk.instance.habits.unreadableCondition = "refused";
    assert.equal(
      errorOf(await desk.ask("ben", "incident", { query: { sysparm_query: query } })),
      "403 Insufficient rights to query records: Field(s) present in the query do not have permission to be read",
    );
    desk.instance.habits.unreadableCondition = "ignored";
    assert.equal((await desk.find("ben", "incident", query)).length, 1);
  }
});

Deno.test("encoded queries: every script that a query runs is noted", async () => {
  await using desk = await openDesk({ data: "small" });
  await desk.find(
    "ada",
    "incident",
    "caller_id=javascript:gs.getUserID()^category=javascript:new GlideRecord('x').query()",
  );
  assert.deepEqual(desk.instance.scripts, ["javascript:gs.getUserID()", "javascript:new GlideRecord('x').query()"]);
});
