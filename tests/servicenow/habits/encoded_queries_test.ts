/** Encoded queries, as agents of other servers send them, wherever they come: the same as conditions of our own. */
import assert from "node:assert/strict";
import { openDesk } from "../desk/desk_place.ts";

const pairs: readonly (readonly [encoded: string, lines: string])[] = [
  ["active=true^priority=1", "active=true\npriority=1"],
  ["active=true^assigned_to=javascript:gs.getUserID()", "active=true\nassigned_to=me"],
  ["assigned_toDYNAMIC90d1921e5f510100a9ad2572f2b477fe", "assigned_to=me"],
  ["assignment_groupDYNAMICd6435e965f510100a9ad2572f2b47744^state=1", "assignment_group=my groups\nstate=New"],
  ["priorityIN1,2^stateNOT IN6,7", "priority=1|2\nstate!=Resolved|Closed"],
  [
    "short_descriptionLIKEvpn^ORdescriptionLIKEwireless",
    "short_description contains vpn or description contains wireless",
  ],
  ["short_descriptionNOT LIKEvpn^active=true^EQ", "short_description does not contain vpn\nactive=true"],
  ["assigned_toISEMPTY^stateISNOTEMPTY", "assigned_to is empty\nstate is not empty"],
  ["numberSTARTSWITHINC00100", "number starts with INC00100"],
  ["caller_id.user_name=ben", "caller_id.user_name=ben"],
  ["opened_at>=javascript:gs.beginningOfLastMonth()", "opened_at>=last month"],
  ["opened_atONLast week@javascript:gs.beginningOfLastWeek()@javascript:gs.endOfLastWeek()", "opened_at=last week"],
  ["opened_at>=javascript:gs.daysAgoStart(20)", "opened_at>=20 days ago"],
  ["opened_at<=javascript:gs.daysAgoEnd(3)", "opened_at<=3 days ago"],
  [
    "opened_atONLast 7 days@javascript:gs.beginningOfLast7Days()@javascript:gs.endOfLast7Days()",
    "opened_at=last 7 days",
  ],
];

Deno.test("an encoded query finds and counts what the same conditions do, in where, query, filter and words", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const count = async (input: object) => {
    const text = await desk.text("servicenow_count", { table: "incident", ...input });
    return Number(/^incident: (\d+)/.exec(text)?.[1] ?? assert.fail(text));
  };
  for (const [encoded, lines] of pairs) {
    const expected = await count({ where: lines });
    for (const name of ["where", "query", "filter", "words"]) {
      assert.equal(await count({ [name]: encoded }), expected, `${name} ${encoded}`);
    }
    const [line = ""] = lines.split("\n");
    if (/[=_]/.test(line)) assert.equal(await count({ query: line, where: lines }), expected, lines);
  }
  assert.deepEqual(desk.instance.scripts, []);
  const sorted = await desk.text("servicenow_search", {
    table: "incident",
    query: "active=true^ORDERBYDESCnumber",
    limit: 3,
  });
  const numbers = sorted.match(/^INC\d{7}/gm) ?? [];
  assert.equal(numbers.length, 3);
  assert.deepEqual(numbers, numbers.toSorted().toReversed());
  const article = await desk.text("servicenow_search", { table: "kb_knowledge", query: "workflow_state=published" });
  assert.match(article, /workflow_state is Published/);
});

Deno.test("words with signs stay words, and what cannot be understood of an encoded query is refused", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const search = (input: object) => desk.text("servicenow_search", { table: "incident", ...input });
  assert.match(await search({ query: "error=5" }), /with the words error=5/);
  for (const words of ["vpn drops", "laptop is broken", "error code = 5", "state of the disk"]) {
    assert.match(await search({ query: words }), new RegExp(`with the words ${words}`));
  }
  const labels = ["State = New", "state is New", "State is New", "state in (New)"];
  for (const query of labels) assert.match(await search({ query }), /, state is New \(/, query);
  assert.match(
    await search({ query: "Assigned to = me\nPriority=1" }),
    /assigned_to is Ada Lovelace, priority is 1 - /,
  );
  for (
    const where of [
      "active=true^NQpriority=1",
      "priority=javascript:deleteAll()",
      "opened_at>javascript:gs.endOfLastWeek() + 1",
      "opened_at>=javascript:gs.daysAgoEnd(3)",
      "short_descriptionSAMEASdescription^active=true",
    ]
  ) assert.match(await search({ where }), /^refused/, where);
  assert.deepEqual(desk.instance.scripts, []);
  for (const where of ["short_description contains =z", "short_description contains a>b", "short_description is a>b"]) {
    assert.match(
      await search({ where }),
      /^incident: none.*short_description (contains =z|contains a>b|is a>b)/,
      where,
    );
  }
});

Deno.test("conditions and values come as lists and objects too", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const search = (where: unknown) =>
    desk.text("servicenow_search", { table: "incident", where, fields: ["number", "state"] });
  const expected = await search("state=New\npriority=1|2");
  assert.match(expected, /^incident: .*state is New, priority is/);
  assert.equal(await search(["state=New", "priority=1|2"]), expected);
  assert.equal(await search({ state: "New", priority: "1|2" }), expected);
  const values = { description: "First line\nurgency=1", state: "In Progress" };
  assert.match(await desk.text("servicenow_update", { id: "INC0010016", values, dry_run: true }), /^ {2}urgency=1$/m);
});
