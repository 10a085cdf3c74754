import assert from "node:assert/strict";
import { sysIdOf } from "../../fixtures/servicenow/world.ts";
import { type Desk, openDesk } from "./desk_place.ts";

/** Orders and gives the numbers of the request and of its items. */
async function order({ text }: Desk, input: object, user: string): Promise<readonly string[]> {
  const said = await text("servicenow_order", input, user);
  return said.match(/\b(?:REQ|RITM|INC)\d{7}\b/g) ?? assert.fail(said);
}

function linesOf(text: string): string {
  return /^answers:[^]*/m.exec(text)?.[0] ?? text;
}

Deno.test("the fulfiller of an item reads what was answered to its questions, in people's words", async () => {
  await using desk = await openDesk({ people: ["ada", "ben", "eve"], instance: { data: "desk" } });
  const read = async (input: object, user = "eve") => linesOf(await desk.text("servicenow_get_record", input, user));
  const phone = "answers:\n- Which model?: Pixel 10\n- Monthly data: 10 GB\n- Anything else?: Please without a charger";
  assert.equal(await read({ id: "RITM0010002" }), phone);
  assert.equal(await read({ id: "SCTASK0010001" }), phone, "a catalog task shows those of its item");
  assert.match(
    await read({ id: "REQ0010002", include: "answers" }),
    /^answers:\n- RITM0010002 Which model\?: Pixel 10\n/,
  );
  assert.doesNotMatch(await read({ id: "RITM0010002", fields: "state" }), /answers/);

  const licence = "software=Microsoft Visio\nlicence_for=jonas.keller2\nterms=yes\nuntil=2026-12-31";
  const [request = "", item = ""] = await order(desk, { item: "Software licence", answers: licence }, "ben");
  assert.equal(
    await read({ id: item }),
    "answers:\n- Which software?: Microsoft Visio\n- Who is it for?: Jonas Keller (jonas.keller2)\n" +
      "- Until when?: 2026-12-31\n- I accept the terms: yes",
  );
  assert.match(
    await read({ id: request, include: "answers" }, "ben"),
    /Who is it for\?: Jonas Keller/,
    "so does who ordered",
  );
  const folder = {
    item: "Shared folder access",
    answers: '{"folder": "/srv\\n- forged: line", "write": "no", "people": "ada, eve"}',
  };
  const [, folderItem = ""] = await order(desk, folder, "ben");
  assert.equal(
    await read({ id: folderItem }),
    "answers:\n- Path of the folder: /srv\n  - forged: line\n- May it be changed?: No\n" +
      "- For whom?: Ada Lovelace (ada), Eve Writer (eve)",
  );
  const desks = { item: "Desk for a new colleague", answers: "start=2026-12-01\ncost_centre=4711" };
  assert.match(await read({ id: (await order(desk, desks, "ben"))[1] }), /First day: 2026-12-01\n- Cost centre: 4711$/);
});

Deno.test("answers of several items, and none of records that were never ordered", async () => {
  await using desk = await openDesk({ people: ["ben", "eve"], instance: { data: "desk" } });
  const read = async (input: object, user = "eve") => linesOf(await desk.text("servicenow_get_record", input, user));
  for (const model of ["Pixel 10", "iPhone 17"]) {
    const line = { item: "Mobile phone", answers: `model=${model}\ndata_plan=2 GB`, action: "add_to_cart" };
    await desk.text("servicenow_order", line, "ben");
  }
  const [request = "", first = "", second = ""] = await order(desk, { action: "submit_cart" }, "ben");
  const both = await read({ id: request, include: "answers" });
  assert.match(both, new RegExp(`${first} Which model\\?: Pixel 10[^]*${second} Which model\\?: iPhone 17`));
  for (const [id, table] of [["INC0010001", "incident"], ["db-01", "ci"], ["me", "sys_user"], ["KB0010001", "kb"]]) {
    assert.match(await read({ id, table, include: "answers" }), /has no answers; leave it out of include/);
  }
});

Deno.test("answers that are masked or secret are never shown, nor records of closed tables; what is hidden is said", async () => {
  await using desk = await openDesk({ people: ["ada", "ben", "eve"], instance: { data: "desk" } });
  const { tables } = desk.instance;
  const item = sysIdOf("sc_cat_item Mobile phone");
  const stored = (name: string) => tables.get("sc_item_option")?.get(sysIdOf(`sc_item_option phone ${name}`)) ?? {};
  const question = (name: string) =>
    tables.get("item_option_new")?.get(sysIdOf(`item_option_new ${item} ${name}`)) ?? {};
  const read = async (user = "eve") => linesOf(await desk.text("servicenow_get_record", { id: "RITM0010002" }, user));
  Object.assign(question("note"), { type: "25" });
  assert.match(await read(), /Anything else\?: •••$/);
  Object.assign(question("note"), { type: "2", name: "door_pin" });
  assert.match(await read(), /Anything else\?: •••$/);
  Object.assign(question("note"), { type: "8", name: "role", reference: "sys_user_role" });
  const [role] = [...tables.get("sys_user_role")?.values() ?? []];
  stored("note")["value"] = role?.["sys_id"] ?? "";
  assert.match(await read(), /Anything else\?: a record of sys_user_role that is not shown here$/);
  assert.ok(!desk.instance.requests.some(({ path }) => path.endsWith("/sys_user_role")));
  stored("model")["value"] = "x^NQactive=true\n- injected: line";
  assert.doesNotMatch(await read(), /^- injected/m);
  stored("note")["value"] = "of a question that is gone";
  tables.get("item_option_new")?.delete(sysIdOf(`item_option_new ${item} note`));
  assert.match(await read(), /\(a question that ServiceNow does not show\): •••$/);
  desk.instance.faults.play("query_forbidden", { times: 9, path: /sc_item_option_mtom/ });
  assert.match(await read(), /answers: ServiceNow hides them from this user$/);
  desk.instance.faults.clear();
  desk.instance.faults.play("huge_list", { path: /sc_item_option_mtom/ });
  const whole = await desk.text("servicenow_get_record", { id: "RITM0010002" }, "eve");
  assert.match(whole, /^RITM0010002 [^]*sys_updated_on: [^\n]*$/);
});

Deno.test("a request with more answers than are read at once says so", async () => {
  await using desk = await openDesk({ people: ["eve"], instance: { data: "desk" } });
  const links = desk.instance.tables.get("sc_item_option_mtom");
  const [link] = [...links?.values() ?? []];
  for (let index = 0; index < 220; index++) {
    const id = index.toString(16).padStart(32, "0");
    links?.set(id, { ...link, sys_id: id });
  }
  const text = await desk.text("servicenow_get_record", { id: "REQ0010002", include: "answers" }, "eve");
  assert.match(text, /^answers \(the first; read each item by its number\):\n- RITM0010002 Which model/m);
});
