import assert from "node:assert/strict";
import { openDesk } from "./desk_place.ts";

const phone = "Which model?=pixel 10\ndata_plan=10 GB\nnote=black";

Deno.test("servicenow_describe tells what an item asks, and servicenow_order what is missing before it sends", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const asked = await desk.text("servicenow_describe", { item: "Software licence" }, "ben");
  assert.match(
    asked,
    /^Software licence: A licence.*\(\$120\.00\)\nsoftware \(Which software\?\) choice mandatory \[Adobe Acrobat,/,
  );
  assert.match(asked, /^licence_for \(Who is it for\?\) → sys_user mandatory$/m);
  const order = (answers: string, user = "ben") =>
    desk.text("servicenow_order", { item: "Software licence", answers }, user);
  const whole = "software=Microsoft Visio\nlicence_for=me\nterms=yes";
  for (
    const [answers, expected] of [
      ["", /answers must have software \(Which software\?\) choice mandatory \[Adobe Acrobat/],
      [
        "software=Word\nlicence_for=me\nterms=yes",
        /no "Word" for software \(Which software\?\) choice mandatory \[Adobe Acrobat, /,
      ],
      ["software=visio\nlicence_for=Jonas Keller\nterms=yes", /licence_for "Jonas Keller" is ambiguous/],
      ["software=visio\nlicence_for=me\nterms=no", /must have terms \(I accept the terms\) checkbox mandatory/],
      [`${whole}\nsoftwares=x`, /asks no softwares; did you mean software\?/],
      [`${whole}\nsoftware=visio`, /gives software twice/],
      [`${whole}\nuntil=someday`, /until: write one day/],
    ] as const
  ) assert.match(await order(answers), expected);
  assert.equal(desk.instance.requests.some(({ method, path }) => method === "POST" && path.includes("order")), false);
  assert.match(await order(whole), /^Ordered: REQ\d{7}, Software licence\n/);
  assert.match(await desk.text("servicenow_order", { item: "Server in the data centre" }, "ben"), /no catalog item/);
});

Deno.test("an order is shown by a dry run, made once, and followed to its items", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const order = (more: object) =>
    desk.text("servicenow_order", { item: "Mobile phone", answers: phone, ...more }, "ben");
  assert.equal(
    await order({ dry_run: true }),
    "Dry run, nothing sent. Would order Mobile phone for Ben Bitdiddle, $400.00\nWhich model?: Pixel 10\nMonthly data: 10 GB\n" +
      "Anything else?: black",
  );
  const before = desk.instance.tables.get("sc_request")?.size ?? 0;
  assert.match(
    await order({ dry_run: true, quantity: 2 }),
    /Would order 2 × Mobile phone for Ben Bitdiddle, \$800\.00 \(\$400\.00 each\)\n/,
  );
  const made = await order({ quantity: 2 });
  assert.match(
    made,
    /^Ordered: (REQ\d{7}), 2 × Mobile phone\nhttp[^\n]*\nRITM\d{7}, 2 × Mobile phone, .*\ntotal \$800\.00\nWhich/,
  );
  assert.equal(desk.instance.tables.get("sc_request")?.size, before + 1);
  const [, number = ""] = /(REQ\d{7})/.exec(made) ?? [];
  assert.match(
    await desk.text("servicenow_get_record", { id: number, include: "items, approvals" }, "ben"),
    /items:\n- RITM\d{7} Mobile phone/,
  );
  const forOther = { item: "Standard Laptop", answers: "requested_for=ben" };
  assert.match(
    await desk.text("servicenow_order", forOther),
    /total \$1,100\.00\nwaits for the approval of Ada Lovelace\nrequested for Ben Bitdiddle \(ben\)$/,
  );
  const unknown = { item: "Standard Laptop", answers: "requested_for=nobody at all" };
  assert.match(await desk.text("servicenow_order", unknown), /requested_for: no person/);
});

Deno.test("a cart is filled, shown and submitted; where orders take two steps, an item is in the cart after the first", async () => {
  await using desk = await openDesk({ instance: { data: "desk", habits: { checkout: "two_step" } } });
  const order = (input: object) => desk.text("servicenow_order", input, "ben");
  assert.match(
    await order({ item: "Standard Laptop", action: "add_to_cart", quantity: 2 }),
    /^Standard Laptop is in the cart, NOT ordered yet[^]*- 2 × Standard Laptop/,
  );
  assert.match(await order({ item: "Mobile phone", answers: phone }), /^Mobile phone is in the cart, NOT ordered yet/);
  assert.match(
    await order({ action: "show_cart" }),
    /^The cart:\n- 2 × Standard Laptop .*\n- 1 × Mobile phone .*\ntotal \$2,600\.00$/,
  );
  assert.match(await order({ action: "submit_cart", dry_run: true }), /^Dry run, nothing sent\. Would order the cart:/);
  assert.match(await order({ action: "submit_cart" }), /^Ordered: REQ\d{7}\n[^]*RITM.*2 × [^]*RITM[^]*total \$2,600/);
  assert.match(await order({ action: "show_cart" }), /The cart is empty/);
  assert.match(await order({ action: "submit_cart" }), /Rejected by ServiceNow\. Cart is empty/);
});

Deno.test("a record producer makes its record, where its table is open", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const report = { item: "Report an issue", answers: '{"What is wrong?": "Printer", "description": "a\\nb"}' };
  assert.match(await desk.text("servicenow_order", report, "ben"), /^Ordered: INC\d{7}, Report an issue\n/);
  await using closed = await openDesk({ instance: { data: "desk" }, tables: ["sc_cat_item", "problem"] });
  assert.match(await closed.text("servicenow_order", report, "ben"), /incident cannot be written here/);
  await using none = await openDesk({ instance: { data: "desk" }, tables: ["incident"] });
  assert.match(await none.text("servicenow_order", report, "ben"), /sc_cat_item cannot be read here/);
});
