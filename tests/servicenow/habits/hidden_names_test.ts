/** Instances that keep their dictionary or choices from people: what is not known is said, sent, and compared. */
import assert from "node:assert/strict";
import type { StandInOptions } from "../../fixtures/servicenow/instance.ts";
import { sysId, sysIdOf } from "../../fixtures/servicenow/world.ts";
import { openDesk } from "../desk/desk_place.ts";

const hidden: readonly (readonly [way: string, habits: NonNullable<StandInOptions["habits"]>])[] = [
  ["dictionary and choices", { metadata: "admin_only" }],
  ["all of it, with empty lists", {
    hiddenTables: ["sys_dictionary", "sys_db_object", "sys_documentation", "sys_choice"],
    hiddenTableAnswer: "empty",
  }],
  ["the dictionary alone", { hiddenTables: ["sys_dictionary", "sys_db_object", "sys_documentation"] }],
];

for (const [way, habits] of hidden) {
  Deno.test(`nothing of the base system is said not to exist where the instance hides ${way}`, async () => {
    await using desk = await openDesk({ people: ["ada", "ben", "jonas.keller2"], instance: { data: "desk", habits } });
    // Somebody without a record of their own, on every table of the desk.
    for (const [, record] of desk.instance.tables.get("incident") ?? []) {
      if (record["caller_id"] === sysId("f7")) {
        Object.assign(record, { caller_id: sysId("a1"), opened_by: sysId("a1") });
      }
    }
    const refused = /has no|no field|does not exist|cannot be "/;
    for (
      const [table, where] of [
        ["incident", "caller_id=me\nactive=true"],
        ["incident", "contact_type=Phone"],
        ["incident", "close_code=Resolved by caller"],
        ["problem", "known_error=true"],
        ["change_request", "start_date>=last week\ntype=Emergency"],
        ["sc_req_item", "cat_item is not empty"],
        ["kb_knowledge", "workflow_state=Published"],
        ["sysapproval_approver", "approver=me\nstate=Requested"],
        ["cmdb_ci", "operational_status=Operational\nserial_number is empty"],
        ["sys_user", "title contains Eng"],
        ["sc_request", "opened_by=me\nrequester=me\ncreated>=today"],
        ["incident", "caller=me\nassignee is empty\nci is empty\nclosed_by is empty"],
      ] as const
    ) {
      for (const userName of ["ada", "jonas.keller2"]) {
        const text = await desk.text("servicenow_search", { table, where }, userName);
        assert.doesNotMatch(text, refused, `${userName} ${table} ${where}`);
      }
    }
    const described = await desk.text("servicenow_describe", { table: "incident" }, "jonas.keller2");
    for (const name of ["urgency", "description", "comments", "close_code", "opened_by"]) {
      assert.match(described, new RegExp(`^${name}\\b`, "m"));
    }
    const values = { short_description: "Beamer", description: "It stays dark", urgency: "2", contact_type: "Phone" };
    const input = { table: "incident", values: JSON.stringify(values) };
    const created = await desk.text("servicenow_create", input, "jonas.keller2");
    const [number] = /^INC\d{7}/.exec(created) ?? assert.fail(created);
    const row = [...desk.instance.tables.get("incident")?.values() ?? []].find((each) => each["number"] === number);
    assert.deepEqual([row?.["description"], row?.["urgency"], row?.["contact_type"]], ["It stays dark", "2", "phone"]);
    const note = { id: number, audience: "caller", text: "Still dark" };
    assert.doesNotMatch(await desk.text("servicenow_add_note", note, "jonas.keller2"), /^refused|NOT/);
    const unknown = { table: "incident", where: "colour=red" };
    if (way !== "nothing") {
      assert.doesNotMatch(await desk.text("servicenow_search", unknown, "jonas.keller2"), /has no field/);
      const mistake = { table: "incident", where: "asigned_to=me" };
      assert.match(
        await desk.text("servicenow_search", mistake),
        /asigned_to is not known here.*did you mean assigned_to/,
      );
    }
  });
}

Deno.test("a field of the instance's own is used where the dictionary is hidden, in conditions and in values", async () => {
  await using desk = await openDesk({
    people: ["ada", "ben"],
    tables: ["u_facility_request", "incident"],
    instance: { data: "desk", habits: { metadata: "admin_only", pageCut: "before_acl" } },
  });
  const found = await desk.text("servicenow_search", { table: "u_facility_request", where: "u_room=7.12" });
  assert.match(found, /FAC0000001/);
  const input = {
    table: "u_facility_request",
    values: '{"short_description":"Dark","u_room":"7.13","u_kind":"heating"}',
  };
  assert.match(await desk.text("servicenow_create", input), /u_room: 7\.13/);
  const absent = { id: "INC0010001", values: "u_no_such_column=x" };
  assert.match(await desk.text("servicenow_update", absent), /u_no_such_column/);
  assert.doesNotMatch(await desk.text("servicenow_update", absent), /has no field/);
});

Deno.test("a value that is none of those seen is sent where choices are hidden, and words never where numbers are stored", async () => {
  await using desk = await openDesk({ instance: { data: "desk", habits: { metadata: "admin_only" } } });
  const update = (values: object) =>
    desk.text("servicenow_update", { id: "INC0010016", values: JSON.stringify(values) });
  const row = () =>
    [...desk.instance.tables.get("incident")?.values() ?? []].find((each) => each["number"] === "INC0010016") ?? {};
  const resolved = await update({ state: "Resolved", close_code: "Resolved by caller", close_notes: "By himself" });
  assert.match(resolved, /close_code: Resolved by caller/);
  assert.match(resolved, /whether close_code has such a value is not known/);
  assert.deepEqual([row()["state"], row()["close_code"]], ["6", "Resolved by caller"]);
  assert.match(await update({ state: "Being looked at" }), /none of the values known here.*give its number/);
  await update({ subcategory: "Wireless" });
  assert.equal(row()["subcategory"], "wireless", "as records have it stored");
});

Deno.test("choices are found where the dictionary does not announce them", async () => {
  await using desk = await openDesk({ instance: { data: "desk", habits: { dictionaryChoice: "empty" } } });
  const described = await desk.text("servicenow_describe", { table: "incident", field: "category" });
  assert.match(described, /Hardware/);
  await desk.text("servicenow_update", {
    id: "INC0010016",
    values: "category=Hardware\nstate=On Hold\nhold_reason=Awaiting Caller",
  });
  const row = [...desk.instance.tables.get("incident")?.values() ?? []].find((each) => each["number"] === "INC0010016");
  assert.deepEqual([row?.["category"], row?.["state"], row?.["hold_reason"]], ["hardware", "3", "1"]);
  assert.match(
    await desk.text("servicenow_update", { id: "INC0010016", values: "category=Hardwear" }),
    /cannot be "Hardwear"/,
  );
  assert.match(
    await desk.text("servicenow_search", { table: "incident", where: "category=Hardware" }),
    /category is Hardware/,
  );
  assert.match(
    await desk.text("servicenow_search", { table: "incident", where: "reassignment_count=x" }),
    /must be a number/,
  );
  assert.match(
    await desk.text("servicenow_search", { table: "incident", where: "number=INC0010001, INC0010002" }),
    /INC0010002/,
  );
});

/** Adds rows to sys_choice as the first of its list. */
function addChoices(desk: { readonly instance: Awaited<ReturnType<typeof openDesk>>["instance"] }, rows: {
  readonly element: string;
  readonly count: number;
  readonly label?: string;
  readonly inactive?: boolean;
}): void {
  const { element, count, label, inactive = false } = rows;
  for (let index = 0; index < count; index++) {
    const id = sysIdOf(`choice of ${element} ${label ?? index}`);
    desk.instance.tables.get("sys_choice")?.set(id, {
      ...{
        sys_id: id,
        name: "incident",
        element,
        value: `${element}_${label ?? index}`,
        label: label ?? `Number ${index}`,
      },
      ...{ language: "en", dependent_value: "", sequence: "-1", inactive: String(inactive) },
    });
  }
}

for (const habits of [{}, { linkHeader: "absent" }, { totalCount: "absent", linkHeader: "absent" }] as const) {
  Deno.test(`choices behind the first 2,000 are not said not to exist: ${JSON.stringify(habits)}`, async () => {
    await using desk = await openDesk({ instance: { data: "desk", habits } });
    const row = () =>
      [...desk.instance.tables.get("incident")?.values() ?? []].find((each) => each["number"] === "INC0010016") ?? {};
    addChoices(desk, { element: "u_other", count: 2_100 });
    const found = await desk.text("servicenow_search", { table: "incident", where: "category=Hardware" });
    assert.match(found, /category is Hardware/);
    await desk.text("servicenow_update", { id: "INC0010016", values: "category=Hardware" });
    assert.equal(row()["category"], "hardware");
    const wrong = await desk.text("servicenow_update", { id: "INC0010016", values: "category=Hardwear" });
    assert.match(wrong, /cannot be "Hardwear"/, "all of the column are known");
    const described = await desk.text("servicenow_describe", { table: "incident", field: "category" });
    assert.match(described, /Hardware/);
  });
}

Deno.test("a value is sent, and said not to be known, where a column has more choices than are read", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  addChoices(desk, { element: "category", count: 2_100 });
  const row = () =>
    [...desk.instance.tables.get("incident")?.values() ?? []].find((each) => each["number"] === "INC0010016") ?? {};
  const sent = await desk.text("servicenow_update", { id: "INC0010016", values: "category=Printers" });
  assert.match(sent, /whether category has such a value is not known/);
  assert.equal(row()["category"], "Printers");
  await desk.text("servicenow_update", { id: "INC0010016", values: "category=Hardware" });
  assert.equal(row()["category"], "hardware", "as records have it stored");
  const search = await desk.text("servicenow_search", { table: "incident", where: "category=Database" });
  assert.doesNotMatch(search, /cannot be/);
});

Deno.test("an inactive choice is found and written, and an active one comes first", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const row = () =>
    [...desk.instance.tables.get("incident")?.values() ?? []].find((each) => each["number"] === "INC0010016") ?? {};
  addChoices(desk, { element: "category", count: 1, label: "Telephony", inactive: true });
  addChoices(desk, { element: "category", count: 1, label: "Hardware", inactive: true });
  addChoices(desk, { element: "state", count: 1, label: "Open", inactive: true });
  row()["category"] = "category_Telephony";
  const found = await desk.text("servicenow_search", { table: "incident", where: "category=Telephony" });
  assert.match(found, /category is Telephony \(inactive\)/);
  assert.match(found, /^INC0010016/m);
  const written = await desk.text("servicenow_update", { id: "INC0010017", values: "category=Telephony" });
  assert.match(written, /Telephony \(inactive\) is none of the values that forms offer now/);
  const stored = [...desk.instance.tables.get("incident")?.values() ?? []].find((each) =>
    each["number"] === "INC0010017"
  );
  assert.equal(stored?.["category"], "category_Telephony");
  await desk.text("servicenow_update", { id: "INC0010016", values: "category=Hardware" });
  assert.equal(row()["category"], "hardware");
  for (const input of [{ table: "incident", field: "category" }, { table: "incident" }]) {
    assert.doesNotMatch(await desk.text("servicenow_describe", input), /Telephony/, "no longer offered");
  }
  const wrong = await desk.text("servicenow_update", { id: "INC0010016", values: "category=Telephonie" });
  assert.doesNotMatch(wrong, /Telephony/);
  const open = await desk.text("servicenow_search", { table: "incident", where: "state=open" });
  assert.match(open, /active and not resolved/);
});
