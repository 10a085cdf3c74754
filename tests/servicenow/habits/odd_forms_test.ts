/** Odd forms of what agents write: each is read as it is meant, or refused with the form that works; never answered with a false "none". */
import assert from "node:assert/strict";
import { openDesk } from "../desk/desk_place.ts";
import { parseDates } from "../../../src/servicenow/dates.ts";

Deno.test("a date that is to be stored is one day or one moment, never the first of a span", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const due = (due_date: string) =>
    desk.text("servicenow_update", { id: "INC0010016", values: { due_date }, dry_run: true });
  for (
    const span of ["next week", "last week", "this month", "next 7 days", "next 2 hours", "last 5 minutes", "this year"]
  ) {
    assert.match(await due(span), /^refused .*due_date: write one day or moment, such as 2026-03-01/, span);
  }
  for (const one of ["tomorrow", "in 2 hours", "now", "next friday", "2026-12-02 10:00", "26.11.2026", "in 3 days"]) {
    assert.match(await due(one), /due_date: 2026-.* UTC$/m, one);
  }
  const answers = { software: "visio", licence_for: "me", terms: true, until: "next week" };
  const order = { item: "Software licence", answers, dry_run: true };
  assert.match(await desk.text("servicenow_order", order), /^refused .*until: write one day, such as 2026-03-01/);
});

Deno.test("a range that no date can be in is refused, and the form that is meant is named", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const count = (where: string) => desk.text("servicenow_count", { table: "incident", where });
  for (
    const where of [
      "opened_at between 2026-05-20 and 2026-05-01",
      "opened_at>=2026-05-20\nopened_at<2026-05-01",
      "opened_at<last friday\nstate=New\nopened_at>yesterday",
    ]
  ) {
    assert.match(
      await count(where),
      /^refused .*nothing is both opened_at (since|after) .* and opened_at (until|before) /,
      where,
    );
  }
  assert.match(await count("opened_at between 2026-05-01 and 2026-05-20"), /^incident: 96 /);
  assert.match(await count("opened_at>last 7 days"), /^refused .*use opened_at=last 7 days/);
  assert.match(await count("due_date<next 7 days"), /^refused .*use due_date=next 7 days/);
  assert.match(await count("opened_at<last 7 days"), /^incident: \d+ .*before 2026-05-21/);
  assert.match(await count("due_date<now"), /^incident: \d+ .*before 2026-05-28/);
  for (
    const where of ["opened_at contains 2026-05", "opened_at starts with 2026-05-20", "opened_at like 2026-05-20%"]
  ) {
    assert.match(await count(where), /^refused .*opened_at is a date: use =, .* or between A and B/, where);
  }
  assert.match(await count("opened_at=2026-05-20 to 2026-05-22"), /no date; write .*between 2026-03-01 and 2026-03-07/);
});

Deno.test("written dates that can be read in one way alone are read, others are refused", () => {
  const now = Date.UTC(2026, 2, 29, 18, 30);
  for (const text of ["2026/02/01", "2026-2-1", "2026.02.01", "Feb 1, 2026", "february 1 2026", "1st February 2026"]) {
    assert.equal(parseDates(text, now, "UTC")?.from, "2026-02-01 00:00:00", text);
  }
  for (const text of ["01/02/2026", "1/2/26", "13/02/2026", "01-02-2026", "Feb 30, 2026", "9999 years ago"]) {
    assert.equal(parseDates(text, now, "UTC"), null, text);
  }
});

/** What other languages of queries write, and the same in our own. */
const sameConditions: readonly (readonly [odd: string, plain: string])[] = [
  ["state in ('New', \"On Hold\")", "state=New|On Hold"],
  ["state in ['New','On Hold']", "state=New|On Hold"],
  ["assignment_group not in ('Network','Hardware')", "assignment_group!=Network|Hardware"],
  ["state equals New", "state=New"],
  ["short_description like 'VPN%'", "short_description starts with VPN"],
  ["short_description like %minutes", "short_description ends with minutes"],
  ["short_descriptionENDSWITHminutes", "short_description ends with minutes"],
  ["active=true^EQ", "active=true"],
  ["active=true^", "active=true"],
  ["active=true ^ priority=1", "active=true\npriority=1"],
  ["active=true^assigned_to=NULL", "active=true\nassigned_to is empty"],
  ["state=1^ORstate!=NULL", "state=New or state is not empty"],
  ["opened_atBETWEEN2026-05-01@2026-05-20", "opened_at between 2026-05-01 and 2026-05-20"],
  [
    "active=true^opened_atBETWEENjavascript:gs.beginningOfLastWeek()@javascript:gs.endOfToday()",
    "active=true\nopened_at between last week and today",
  ],
  ["number=INC10016", "number=INC0010016"],
  ["number=10016", "number=INC0010016"],
  ["number in 10016,10017", "number=INC0010016|INC0010017"],
];

Deno.test("conditions of other languages find what the same in ours does", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const count = async (where: string) => {
    const text = await desk.text("servicenow_count", { table: "incident", where });
    return Number(/^incident: (\d+)/.exec(text)?.[1] ?? assert.fail(`${where}: ${text}`));
  };
  for (const [odd, plain] of sameConditions) assert.equal(await count(odd), await count(plain), odd);
  assert.equal(await count("short_description ends with minutes"), 19);
});

Deno.test("a further condition in the value of another is never looked for as text", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const count = (where: string) => desk.text("servicenow_count", { table: "incident", where });
  for (
    const where of [
      "short_description contains VPN, state=In Progress",
      "short_description=VPN drops every ten minutes, state = In Progress",
      "short_description contains VPN & state=In Progress",
      "short_description contains VPN && priority<=2",
      "short_description contains VPN AND assigned to = jonas.keller",
      "opened_at>=2026-05-01, opened_at<2026-05-20",
      "active=true, Configuration item is empty",
    ]
  ) {
    const refused = await count(where);
    assert.match(refused, /^refused .*give each condition a line of its own, or the whole value in quotes/, where);
    const lines = where.replace(/\s*(?:,|&+|\bAND\b)\s*/, "\n");
    assert.match(await count(lines), /^incident: [1-9]/, lines);
  }
  assert.match(await count('short_description contains "VPN, state=In Progress"'), /^incident: 0 /);
  assert.match(await count("short_description contains a, b=c"), /^incident: /); // no field of the table
});

Deno.test("null in values is what was left out in a new record, and is asked about where it might empty a field", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const values = { short_description: "x", caller_id: null, assigned_to: null };
  const made = await desk.text("servicenow_create", { table: "incident", values, dry_run: true });
  assert.match(made, /short_description: x\ncaller_id: Ada Lovelace$/);
  const change = (assigned_to: unknown) =>
    desk.text("servicenow_update", { id: "INC0010017", values: { urgency: "3", assigned_to }, dry_run: true });
  assert.match(await change(null), /^refused .*assigned_to is null: leave it out, or give "" to empty it/);
  assert.match(await change(""), /assigned_to: Jonas Keller → \(empty\)/);
  for (const none of ["none", "unassigned", "NULL", "empty"]) {
    assert.match(await change(none), /^refused .*assigned_to: no person ".*give "" to empty it/, none);
  }
  const answers = { requested_for: null, acrobat: null };
  const ordered = await desk.text("servicenow_order", { item: "Standard Laptop", answers, dry_run: true });
  assert.match(ordered, /Would order Standard Laptop for Ada Lovelace, \$1,100\.00$/);
  assert.match(await desk.text("servicenow_order", { action: "show_cart", dry_run: true }), /^The cart:/);
});

Deno.test("one value in place of a list, and a list in place of one, are the same value", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const plan = (values: unknown) => desk.text("servicenow_update", { id: "INC0010016", values, dry_run: true });
  for (
    const values of [{ state: ["In Progress"] }, [{ state: "In Progress" }], '[{"state":"In Progress"}]', {
      state: { value: "2" },
    }]
  ) {
    assert.match(await plan(values), /\nstate: New → In Progress$/, JSON.stringify(values));
  }
  assert.match(await plan({ assigned_to: ["ada", "ben"] }), /^refused .*assigned_to takes one value/);
  const get = (more: object) => desk.text("servicenow_get_record", { id: "INC0010016", ...more });
  const expected = await get({ fields: "number,state" });
  for (
    const fields of [["number", "state"], '["number","state"]', "number; state", "number\nstate", "Number, State,"]
  ) {
    assert.equal(await get({ fields }), expected, JSON.stringify(fields));
  }
  const two = await desk.text("servicenow_get_record", { id: "INC0010016,INC0010017" });
  for (const more of [{ id: '["INC0010016","INC0010017"]' }, { ids: ["INC0010016", "INC0010017"] }]) {
    assert.equal(await desk.text("servicenow_get_record", more), two, JSON.stringify(more));
  }
  const journal = await get({ fields: "number", include: "journal" });
  for (const include of ["comments", '["work_notes"]', "Journal", ["journal", "comments"]]) {
    assert.equal(await get({ fields: "number", include }), journal, JSON.stringify(include));
  }
  assert.equal(await get({ fields: "number", include: "sla" }), await get({ fields: "number", include: "slas" }));
  assert.equal(await get({ fields: "all" }), await get({ fields: "*" }));
  assert.match(await get({ id: "servicenow://incident/INC0010016" }), /^INC0010016 /);
  const sorted = await desk.text("servicenow_search", { table: "incident", order_by: "-number", limit: 2 });
  for (const order_by of [["-number"], "number,DESC", "number desc,", '["-number"]']) {
    assert.equal(await desk.text("servicenow_search", { table: "incident", order_by, limit: 2 }), sorted);
  }
});

Deno.test("a refusal says what is meant, and never that something is absent that was not looked for", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  for (
    const [tool, input, expected] of [
      ["search", { table: "incident", order_by: "state,priority,number,opened_at" }, /order_by takes at most 3 fields/],
      ["search", { table: "incident", order: "desc", order_by: "number" }, /order: .*order_by="-number"/],
      ["search", { table: "incident", fields: "*" }, /fields: name them.*servicenow_get_record/],
      ["search", { table: "incident", words: "*" }, /words has no word in it: leave it out/],
      ["search", { table: "incident", words: "VPN|laptop" }, /"VPN\|laptop" would be looked for itself/],
      ["search", { table: "incident", words: "INC0010016 INC0010017" }, /number=INC0010016\|INC0010017/],
      ["search", { table: "incident", where: { active: true, assigned_to: null } }, /where must be lines such as/],
      ["update", { id: "INC0010016", values: [1] }, /values must be a JSON object/],
      ["count", { table: "incident", group_by: ["state", "priority"] }, /group_by takes one field/],
      ["count", { table: "incident", group_by: "opened_at by quarter" }, /did you mean opened_at\?/],
      [
        "get_record",
        { id: "VPN drops", table: "incident" },
        /by its number.*words of its title with servicenow_search/,
      ],
      ["update", { id: "INC0010016", values: { problem_id: "VPN outage" } }, /name the problem by its number/],
      ["describe", { table: "sys_user", field: "employee_number" }, /employee_number of sys_user is not shown here/],
      [
        "describe",
        { table: "incident", field: "caller_id.email" },
        /email is a field of sys_user: describe that table/,
      ],
    ] as const
  ) {
    assert.match(await desk.text(`servicenow_${tool}`, input), expected, JSON.stringify(input));
  }
  const found = await desk.text("servicenow_search", { table: "incident", words: "INC10016" });
  assert.match(found, /^incident: 1, /);
  const parent = { id: "INC0010016", values: { parent_incident: "INC10017" }, dry_run: true };
  assert.match(await desk.text("servicenow_update", parent), /parent_incident: INC0010017$/);
  const hidden = await desk.text("servicenow_search", { table: "incident", where: `sys_id=${"0".repeat(32)}` });
  assert.match(hidden, /^incident: none that the user may see/);
});

Deno.test("a resource and a prompt find a number as the tools do, and refuse one of several records", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const { reader } = desk.place.servicenow;
  const caller = { subject: "ada", signal: new AbortController().signal };
  for (const id of ["INC0010016", "INC10016", "inc10016"]) {
    const found = await reader.read("incident", id, caller);
    assert.equal(found.ok && found.value.fields["number"], "INC0010016", id);
  }
  const incidents = desk.instance.tables.get("incident");
  const [first] = [...incidents?.values() ?? []].filter((each) => each["number"] === "INC0010016");
  incidents?.set("e".repeat(32), { ...first, sys_id: "e".repeat(32) });
  const refused = await reader.read("incident", "INC0010016", caller);
  assert.equal(!refused.ok && refused.error.reason, "invalid_input");
});
