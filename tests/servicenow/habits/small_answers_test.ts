/** Answers that saved an agent a second call when it was misled by the first. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { openDesk } from "../desk/desk_place.ts";

Deno.test("articles have every word, or the answer says that none has", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const search = (words: string) => desk.text("servicenow_search", { table: "kb_knowledge", words });
  assert.match(await search("vpn"), /^kb_knowledge: \d+, with the words vpn/);
  assert.match(await search("vpn zebra"), /^kb_knowledge: none/);
});

Deno.test("a name that no record has is answered with the nearest, in a search too", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const people = await desk.text("servicenow_search", { table: "sys_user", where: "name=Ada Lovelock" });
  assert.match(people, /^sys_user: none[^]*no person "Ada Lovelock" that the user may see; nearest: Ada Lovelace/);
});

Deno.test("the nearest names have all of the words, where many have one", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const people = desk.instance.tables.get("sys_user") ?? assert.fail();
  const [, model] = [...people].find(([, { user_name: name }]) => name === "ben") ?? assert.fail();
  for (const [at, name] of ["Anna", "Annika", "Anne", "Anton", "Annegret", "Schmitz", "Annabel"].entries()) {
    const id = sysId(`e${at}`);
    const last = name === "Schmitz" ? "" : " Vogel";
    people.set(id, { ...model, sys_id: id, name: `${name}${last}`, user_name: `p${at}`, email: `p${at}@example.com` });
  }
  people.set(sysId("e9"), {
    ...model,
    sys_id: sysId("e9"),
    name: "Anna Schmidt",
    user_name: "anna.s",
    email: "a@s.ch",
  });
  const text = await desk.text("servicenow_search", { table: "sys_user", where: "name=Anna Schmid" });
  assert.match(text, /no person "Anna Schmid" that the user may see; nearest: Anna Schmidt \(anna\.s/);
});

Deno.test("approvals of orders say what was ordered, for whom and for how much", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const order = { item: "Standard Laptop", quantity: 2 };
  const [number] = /REQ\d{7}/.exec(await desk.text("servicenow_order", order, "ben")) ?? assert.fail();
  const waiting = { table: "sysapproval_approver", where: "approver=me\nstate=Requested" };
  const text = await desk.text("servicenow_search", waiting);
  assert.match(
    text,
    new RegExp(`^${number}, approver Ada Lovelace, 2 × Standard Laptop for Ben Bitdiddle, \\$2,200`, "m"),
  );
  assert.match(text, /^CHG0030003, approver Ada Lovelace, Move the ERP/m);
});

Deno.test("fields asked for are described, each with its choices", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const text = await desk.text("servicenow_describe", { table: "incident", field: "state, Category" });
  assert.match(text, /^state .*Resolved=6.*\ncategory .*Hardware/m);
  assert.equal(text.split("\n").length, 3);
});

Deno.test("the beginning of a choice counts in an order, where it is of one only", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const order = (model: string) =>
    desk.text("servicenow_order", { item: "Mobile phone", answers: { model, data_plan: "10 GB" }, dry_run: true });
  assert.match(await order("Pixel"), /Which model\?: Pixel 10/);
  assert.match(await order("Nokia"), /no "Nokia" for/);
});

Deno.test("what is related tells items of one name apart by their class", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  assert.match(
    await desk.text("servicenow_get_record", { id: "ERP", table: "cmdb_ci", include: "ci" }),
    /child\.sys_class_name \w+/,
  );
});
