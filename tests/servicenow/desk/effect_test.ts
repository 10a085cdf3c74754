/** What a person reads who decides about a call: what it would do, in their words, and all of it. */
import assert from "node:assert/strict";
import { type InstanceRecord, sysId, sysIdOf } from "../../fixtures/servicenow/world.ts";
import { type Desk, openDesk } from "./desk_place.ts";

const desks = { people: ["ada", "ben", "cleo"], instance: { data: "desk" } } as const;

/** A laptop with a memory option, a ticked extra and a recurring price. */
function sellLaptop({ instance }: Desk, item: InstanceRecord = {}): void {
  const put = (table: string, record: InstanceRecord & { readonly sys_id: string }): void => {
    const rows = instance.tables.get(table) ?? new Map();
    instance.tables.set(table, rows.set(record.sys_id, record));
  };
  const id = sysIdOf("developer laptop");
  const own = {
    sys_class_name: "sc_cat_item",
    active: "true",
    roles: "",
    sc_catalogs: sysId("c0"),
    category: sysId("ca"),
  };
  put("sc_cat_item", { ...own, sys_id: id, name: "Developer Laptop", price: "2400", ...item });
  const asks = { cat_item: id, active: "true", mandatory: "false" };
  const memory = { ...asks, sys_id: sysIdOf("memory"), name: "memory", question_text: "Memory", type: "5", order: "1" };
  const dock = { ...asks, sys_id: sysIdOf("dock"), name: "dock", question_text: "Dock", type: "7", order: "2" };
  put("item_option_new", memory);
  put("item_option_new", { ...dock, price_if_checked: "99.5", rec_price_if_checked: "1" });
  put("question_choice", {
    sys_id: sysIdOf("16"),
    question: memory.sys_id,
    value: "16",
    text: "16 GB",
    misc: "0",
    rec_misc: "0",
  });
  const most = { question: memory.sys_id, value: "32", text: "32 GB (+ 150)", misc: "150", rec_misc: "0" };
  put("question_choice", { sys_id: sysIdOf("32"), ...most });
}

const order = (desk: Desk, input: object, userName = "ada") =>
  desk.effect("servicenow_order", { item: "Developer Laptop", ...input }, userName);

Deno.test("an order is told with who gets it, the options and their prices in the total, as the instance writes prices", async () => {
  await using desk = await openDesk(desks);
  sellLaptop(desk, { recurring_price: "20", recurring_frequency: "Monthly" });
  const { habits } = desk.instance;
  const whole = { answers: { memory: "32 GB", dock: "yes", requested_for: "ben" } };
  for (
    const [prices, quantity, first] of [
      ["usd", 1, "Order Developer Laptop for Ben Bitdiddle (ben), $2,649.50 and $21.00 recurring"],
      ["chf", 1, "Order Developer Laptop for Ben Bitdiddle (ben), CHF 2'649.50 and CHF 21.00 recurring"],
      [
        "eur",
        2,
        "Order 2 × Developer Laptop for Ben Bitdiddle (ben), 5.299,00 € (2.649,50 € each) and 42,00 € (21,00 € each) recurring",
      ],
    ] as const
  ) {
    habits.prices = prices;
    assert.equal(await order(desk, { ...whole, quantity }), `${first}\nMemory: 32 GB (+ 150)\nDock: yes`);
  }
  habits.prices = "usd";
  assert.match(
    await order(desk, { answers: { memory: "16 GB" } }),
    /^Order .* for Ada Lovelace, \$2,400\.00 and \$20\.00/,
  );
  assert.match(
    await order(desk, { action: "add_to_cart" }),
    /^Into the cart: Developer Laptop for Ada Lovelace, \$2,400/,
  );
  assert.equal(desk.instance.requests.some(({ method }) => method !== "GET"), false, "nothing was sent");
});

Deno.test("a price that ServiceNow does not show is said to be not known, never left out", async () => {
  await using desk = await openDesk(desks);
  sellLaptop(desk, { recurring_price: "20" });
  const { habits } = desk.instance;
  assert.match(await order(desk, {}), /, \$2,400\.00 and \$20\.00 recurring$/);
  habits.hiddenTables = ["question_choice"];
  // the label says what the option adds
  assert.match(await order(desk, { answers: { memory: "32 GB" } }), /, \$2,550\.00 and /);
  assert.match(
    await order(desk, { answers: { memory: "16 GB" } }),
    /, \$2,400\.00 and \$20\.00 .* and what the options add, which ServiceNow does not show\n/,
  );
  habits.hiddenTables = [];
  habits.hiddenFields = ["question_choice.misc"];
  assert.match(await order(desk, { answers: { memory: "16 GB" } }), /and what the options add, which ServiceNow/);
  habits.itemPrices = "hidden";
  assert.equal(
    await order(desk, {}),
    "Order Developer Laptop for Ada Lovelace, price NOT known: ServiceNow does not show it",
  );
});

Deno.test("an approval says what is approved and for whom; a change has the fields' labels, and the whole of a text", async () => {
  await using desk = await openDesk(desks);
  const text = `${"long ".repeat(200)}end`;
  const update = { id: "INC0010016", values: { assigned_to: "ada", urgency: "3", close_notes: text } };
  const told = await desk.effect("servicenow_update", update);
  assert.match(told, /^INC0010016 \(.+\):\nAssigned to: .*Ada Lovelace \(ada\)\nUrgency: 1 - High → 3 - Low\n/, told);
  assert.ok(told.includes(text), "a person who approves sees all of it");
  const note = await desk.effect("servicenow_add_note", { id: "INC0010016", audience: "caller", text });
  assert.match(note, /^INC0010016 \(.+\):\nAdditional comments, which the caller reads: long /, note);
  const made = await desk.effect("servicenow_create", {
    table: "incident",
    values: { short_description: "x", urgency: "2" },
  });
  assert.match(made, /^A new incident:\nShort description: x\nUrgency: 2 - Medium\nCaller: Ada Lovelace$/, made);
  const laptop = { item: "Standard Laptop", quantity: 2, answers: { requested_for: "ben" } };
  const [number = ""] = /REQ\d+/.exec(await desk.text("servicenow_order", laptop)) ?? [];
  const decision = await desk.effect("servicenow_approve", { id: number, decision: "approve" });
  assert.match(
    decision,
    /^Approval of REQ\d+ \(2 × Standard Laptop for Ben Bitdiddle, \$2,200\.00\):\nState: Requested → Approved$/,
    decision,
  );
  const rejection = { id: number, decision: "reject", comment: "too dear" };
  assert.match(
    await desk.effect("servicenow_approve", rejection),
    /\nState: Requested → Rejected\nComments: too dear$/,
  );
  await Deno.writeTextFile(`${desk.root}/plan.txt`, "four");
  assert.match(
    await desk.effect("servicenow_attach", { id: "INC0010016", filename: "plan.txt" }),
    /^Attach plan\.txt \(4 bytes\) to INC0010016 \(.+\)$/,
  );
  assert.equal(desk.instance.requests.some(({ method }) => method !== "GET" && method !== "POST"), false);
});

Deno.test("a label that is one long price, or a price that no number holds, is told and holds nobody up", async () => {
  await using desk = await openDesk(desks);
  sellLaptop(desk, { price: "9".repeat(40) });
  desk.instance.habits.hiddenTables = ["question_choice"];
  const row = desk.instance.tables.get("question_choice")?.get(sysIdOf("32"));
  Object.assign(row ?? {}, { text: `32 GB ${"+".repeat(200_000)}` });
  const told = await order(desk, { quantity: 2, answers: { memory: "32" } });
  assert.match(told, /^Order 2 × Developer Laptop for Ada Lovelace, 2 × \(\$1.*\) and what the options add/);
});
