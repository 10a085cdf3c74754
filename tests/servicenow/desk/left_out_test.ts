/** What does not fit into an answer: it is said, and what is kept is what a reader needs most. */
import assert from "node:assert/strict";
import { sysId, sysIdOf } from "../../fixtures/servicenow/world.ts";
import { type Desk, openDesk } from "./desk_place.ts";

const rowsOf = (desk: Desk, table: string) => desk.instance.tables.get(table) ?? assert.fail(`there is no ${table}`);

/** Adds copies of a row, each with changes of its own. */
function addCopies(
  desk: Desk,
  table: string,
  count: number,
  changes: (at: number) => Readonly<Record<string, string>>,
) {
  const rows = rowsOf(desk, table);
  const [model] = rows.values();
  for (let at = 0; at < count; at++) {
    const id = sysIdOf(`copy ${at} in ${table}`);
    rows.set(id, { ...model, ...changes(at), sys_id: id });
  }
}

const stampOf = (at: number): string =>
  `2026-02-${String(1 + Math.trunc(at / 24)).padStart(2, "0")} ${String(at % 24).padStart(2, "0")}:00:00`;

Deno.test("a history that is cut says so, whichever of its rows the user may read", async () => {
  for (const [count, isCut] of [[20, false], [150, true]] as const) {
    await using desk = await openDesk({ instance: { habits: { history: "audit" } } });
    await desk.text("servicenow_update", { id: "INC0010001", values: { urgency: "3" } });
    // every second one is of a field that the user may not read
    addCopies(desk, "sys_audit", count, (at) => ({
      sys_created_on: stampOf(at),
      fieldname: at % 2 === 0 ? "urgency" : "u_hidden",
    }));
    const text = await desk.text("servicenow_get_record", { id: "INC0010001", include: "history" });
    assert.equal(/^history \(the first; newest first/m.test(text), isCut, text);
    assert.match(text, /^history \(.*newest first/m);
  }
});

Deno.test("a journal that is cut says so, and where the rest is", async () => {
  for (const [count, isCut] of [[20, false], [70, true]] as const) {
    await using desk = await openDesk();
    addCopies(desk, "sys_journal_field", count, (at) => ({
      ...{ name: "incident", element: "work_notes", element_id: sysId("1c", 3) },
      ...{ value: `entry ${at}`, sys_created_on: stampOf(at) },
    }));
    const text = await desk.text("servicenow_get_record", { id: "INC0010003", include: "journal" });
    assert.match(text, new RegExp(`entry ${count - 1}$`, "m"));
    assert.equal(/entry 0$/m.test(text), !isCut);
    assert.equal(
      /^journal, newest first \(older entries are left out: read fields=comments,work_notes\):$/m.test(text),
      isCut,
    );
  }
});

Deno.test("figures by day keep the newest days, and say how many older ones are left out", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const [first] = rowsOf(desk, "incident").values();
  for (const [at, row] of [...rowsOf(desk, "incident").values()].entries()) {
    row["opened_at"] = new Date(Date.UTC(2025, 0, 1 + at % 80, 12)).toISOString().slice(0, 19).replace("T", " ");
    row["due_date"] = row === first ? "" : row["opened_at"];
  }
  const count = (group_by: string) => desk.text("servicenow_count", { table: "incident", group_by });
  const days = await count("opened_at by day");
  assert.match(days, /^2025-03-21: \d+$/m);
  assert.doesNotMatch(days, /2025-01-01/);
  assert.match(days, /\n2025-03-21: \d+\nand 30 earlier groups$/);
  assert.match(await count("due_date by day"), /^\(empty\): 1$/m);
  assert.doesNotMatch(await count("opened_at by month"), /earlier/);
});

Deno.test("two people of one name are two in a count by person, and each can be told and looked for", async () => {
  await using desk = await openDesk();
  const people = [...rowsOf(desk, "sys_user").values()].filter(({ name }) => name === "Jonas Keller");
  assert.equal(people.length, 2);
  for (const number of [1, 2, 3]) {
    const row = rowsOf(desk, "incident").get(sysId("1c", number)) ?? assert.fail();
    row["caller_id"] = people[number === 1 ? 0 : 1]?.["sys_id"] ?? "";
  }
  const text = await desk.text("servicenow_count", { table: "incident", where: "active=true", group_by: "caller_id" });
  const groups = [...text.matchAll(/^(Jonas Keller \(.*\)): (\d)$/gm)];
  assert.deepEqual(groups.map(([, , size]) => size), ["2", "1"], text);
  for (const [, name = "", size] of groups) {
    const own = await desk.text("servicenow_count", { table: "incident", where: `active=true\ncaller_id=${name}` });
    assert.match(own, new RegExp(`^incident: ${size} `), own);
  }
  const states = await desk.text("servicenow_count", { table: "task", group_by: "state" });
  assert.equal(states.match(/^New: /gm)?.length, 1, "a state of one name is one group, whatever its numbers are");
});

Deno.test("an approval that a delegate may decide is found among any number that wait for others", async () => {
  await using desk = await openDesk({ people: ["ada", "eve"], instance: { data: "desk" } });
  const approvals = [...rowsOf(desk, "sysapproval_approver").values()];
  const model = approvals.find(({ approver, state }) => approver === sysId("c3") && state === "requested") ??
    assert.fail();
  const others = [...rowsOf(desk, "sys_user").values()].map((user) => user["sys_id"] ?? "")
    .filter((id) => ![sysId("c3"), sysId("e5")].includes(id));
  const rows = rowsOf(desk, "sysapproval_approver");
  rows.delete(model["sys_id"] ?? "");
  for (let at = 0; at < 40; at++) {
    const id = sysIdOf(`waits for another ${at}`);
    rows.set(id, { ...model, sys_id: id, approver: others[at % others.length] ?? "" });
  }
  rows.set(model["sys_id"] ?? "", model);
  const delegates = rowsOf(desk, "sys_user_delegate");
  const delegation = { user: sysId("c3"), delegate: sysId("e5"), approvals: "true" };
  for (let at = 0; at < 120; at++) {
    const id = sysIdOf(`a delegation of the past ${at}`);
    delegates.set(id, { ...delegation, sys_id: id, starts: "2025-01-01 00:00:00", ends: "2025-02-01 00:00:00" });
  }
  const nobody = await desk.text("servicenow_approve", { id: "CHG0030004", decision: "approve" }, "eve");
  assert.match(nobody, /^refused .*it waits for .*, and more/, nobody);
  const now = { sys_id: sysId("dd"), starts: "2026-01-01 00:00:00", ends: "2027-01-01 00:00:00" };
  delegates.set(now.sys_id, { ...delegation, ...now });
  const where = "approver=me\nstate=Requested";
  const waiting = await desk.text("servicenow_search", { table: "sysapproval_approver", where }, "eve");
  assert.match(waiting, /CHG0030004, approver Cleo Krause/);
  const done = await desk.text("servicenow_approve", { id: "CHG0030004", decision: "approve", dry_run: true }, "eve");
  assert.match(done, /Approval of CHG0030004 on behalf of Cleo Krause/);
});

Deno.test("delegations that cannot be read now are a failure, and never none", async () => {
  await using desk = await openDesk({ people: ["ada", "eve"], instance: { data: "desk" } });
  desk.instance.faults.play("server_error", { times: 50, path: /sys_user_delegate/ });
  const input = { table: "sysapproval_approver", where: "approver=me\nstate=Requested" };
  assert.match(await desk.text("servicenow_search", input, "eve"), /^refused \(servicenow_unavailable\)/);
});

Deno.test("a value that the user may not see of some records is not counted as empty", async () => {
  const hidden = ["assigned_to", "opened_at"];
  const hiding: typeof globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input).includes("/table/incident?")) return response;
    const { result } = await response.json() as { readonly result: Record<string, unknown>[] };
    for (const row of result.slice(0, 3)) for (const name of hidden) delete row[name];
    return Response.json({ result }, { headers: { "x-total-count": String(result.length) } });
  };
  await using desk = await openDesk({ fetch: hiding });
  for (const group_by of [...hidden, "opened_at by month"]) {
    const text = await desk.text("servicenow_count", { table: "incident", group_by });
    assert.match(text, /^incident: 15 [^]*^\(not shown to this user\): 3$/m, text);
  }
});
