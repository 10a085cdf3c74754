/** Answers that saved an agent a second call when it was misled by the first. */
import assert from "node:assert/strict";
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
