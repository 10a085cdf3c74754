/** The stand-in's Service Catalog API. */
import assert from "node:assert/strict";
import { sysId, sysIdOf } from "../../fixtures/servicenow/world.ts";
import { type Desk, errorOf, openDesk } from "./desk.ts";

const catalog = "/api/sn_sc/servicecatalog";
const phone = sysIdOf("sc_cat_item Mobile phone");
const issue = sysIdOf("sc_cat_item_producer Report an issue");
const answers = { model: "pixel", data_plan: "2gb" };

function post(desk: Desk, userName: string, path: string, body: unknown = {}) {
  return desk.ask(userName, `${catalog}/${path}`, { method: "POST", body });
}

Deno.test("Service Catalog API: items are found by words, as the person may order them", async () => {
  await using desk = await openDesk();
  const names = async (userName: string, query: Record<string, string>) =>
    (await desk.ask(userName, `${catalog}/items`, { query })).body.result.map((item: { name: string }) => item.name);
  assert.deepEqual(await names("ben", { sysparm_text: "phone" }), ["Mobile phone"]);
  assert.deepEqual(await names("ben", { sysparm_text: "server" }), []);
  assert.deepEqual(await names("ada", { sysparm_text: "database server" }), ["New database server"]);
  assert.deepEqual(await names("ben", { sysparm_type: "Record Producer" }), ["Report an issue"]);
  const [first] = (await desk.ask("ben", `${catalog}/catalogs`)).body.result;
  const categories = (await desk.ask("ben", `${catalog}/catalogs/${first.sys_id}/categories`)).body.result;
  assert.deepEqual(categories.map(({ title }: { title: string }) => title), ["Hardware", "Software", "Access", "Help"]);
});

Deno.test("Service Catalog API: an item has variables with types, choices and which are mandatory", async () => {
  await using desk = await openDesk();
  const { body } = await desk.ask("ben", `${catalog}/items/${phone}`);
  const [model, , note] = body.result.variables;
  assert.deepEqual([model.name, model.label, model.mandatory, model.type], ["model", "Which model?", true, 5]);
  assert.deepEqual(model.choices, [
    { label: "-- None --", value: "", index: 0 },
    { label: "Pixel 10", value: "pixel", index: 1 },
    { label: "iPhone 17", value: "iphone", index: 2 },
  ]);
  assert.deepEqual([note.name, note.mandatory, note.display_type], ["note", false, "Multi Line Text"]);
  assert.equal(
    errorOf(await desk.ask("ben", `${catalog}/items/${sysId("5d")}`)),
    "400 Invalid sys_id or user does not have access to the item: ",
  );
});

Deno.test("Service Catalog API: variable sets are containers, which an instance may leave closed", async () => {
  await using desk = await openDesk();
  const item = sysIdOf("sc_cat_item Desk for a new colleague");
  const read = async () => (await desk.ask("ben", `${catalog}/items/${item}`)).body.result.variables;
  const [start, set] = await read();
  assert.deepEqual([start.name, set.friendly_type, set.children[0].name], ["start", "container_start", "cost_centre"]);
  assert.equal(set.children[0].mandatory, true);
  desk.instance.habits.variableSets = "containers_only";
  assert.equal((await read())[1].children, undefined);
  const order = (variables: unknown) =>
    post(desk, "ben", `items/${item}/order_now`, { sysparm_quantity: 1, variables });
  assert.equal(errorOf(await order({ start: "2026-06-01" })), "400 Mandatory Variables are required: ");
  assert.equal((await order({ start: "2026-06-01", cost_centre: "42" })).status, 200);
  const [joined] = await desk.find("ben", "io_set_item", `sc_cat_item=${item}`, "variable_set");
  const inside = await desk.find("ben", "item_option_new", `variable_set=${joined?.["variable_set"]}`, "name");
  assert.deepEqual(inside, [{ name: "cost_centre" }]);
});

Deno.test("Service Catalog API: an order is a request with an item, answers and a task", async () => {
  await using desk = await openDesk();
  const { status, body } = await post(desk, "ben", `items/${phone}/order_now`, {
    sysparm_quantity: 2,
    variables: answers,
  });
  assert.equal(status, 200);
  assert.match(body.result.request_number, /^REQ\d{7}$/);
  const [request] = await desk.find("ben", "sc_request", `number=${body.result.number}`, "sys_id,approval,price");
  assert.deepEqual([request?.["approval"], request?.["price"]], ["approved", "800"]);
  const [item] = await desk.find("ben", "sc_req_item", `request=${request?.["sys_id"]}`);
  assert.deepEqual([item?.["quantity"], item?.["stage"], item?.["requested_for"]], ["2", "fulfillment", sysId("b2")]);
  const [task] = await desk.find("ada", "sc_task", `request_item=${item?.["sys_id"]}`);
  assert.equal(task?.["short_description"], "Fulfil Mobile phone");
  const given = await desk.find(
    "ben",
    "sc_item_option_mtom",
    `request_item=${item?.["sys_id"]}`,
    "sc_item_option.item_option_new.name,sc_item_option.value",
  );
  assert.deepEqual(given.map((each) => Object.values(each)), [["model", "pixel"], ["data_plan", "2gb"], ["note", ""]]);
  const closed = await desk.ask("ada", `sc_task/${task?.["sys_id"]}`, { method: "PATCH", body: { state: "3" } });
  assert.equal(closed.status, 200);
  const [done] = await desk.find("ben", "sc_request", `number=${body.result.number}`, "request_state,active");
  assert.deepEqual(done, { request_state: "closed_complete", active: "false" });
});

Deno.test("Service Catalog API: a flow may fulfil an order in its own time", async () => {
  await using desk = await openDesk({ habits: { flows: "later" } });
  const { body } = await post(desk, "ben", `items/${phone}/order_now`, { sysparm_quantity: 1, variables: answers });
  const tasks = () => desk.find("ada", "sc_task", `request=${body.result.request_id}`);
  assert.deepEqual(await tasks(), []);
  desk.instance.runFlows();
  assert.equal((await tasks()).length, 1);
});

Deno.test("Service Catalog API: what is dear waits for the manager", async () => {
  await using desk = await openDesk();
  const order = await post(desk, "ben", `items/${sysId("5c")}/order_now`, { sysparm_quantity: "1" });
  const id = order.body.result.request_id;
  const [approval] = await desk.find("ada", "sysapproval_approver", `sysapproval=${id}`, "sys_id,approver,state");
  assert.deepEqual([approval?.["approver"], approval?.["state"]], [sysId("a1"), "requested"]);
  const approve = (userName: string) =>
    desk.ask(userName, `sysapproval_approver/${approval?.["sys_id"]}`, {
      method: "PATCH",
      body: { state: "approved" },
    });
  assert.equal(
    errorOf(await approve("eve")),
    "403 Operation Failed: ACL Exception Update Failed due to security constraints",
  );
  assert.equal((await approve("ada")).body.result.state, "approved");
  const [item] = await desk.find("ben", "sc_req_item", `request=${id}`, "approval,stage");
  assert.deepEqual(item, { approval: "approved", stage: "fulfillment" });
});

Deno.test("Service Catalog API: orders are refused in its own words", async () => {
  await using desk = await openDesk();
  const refuse = async (path: string, body: unknown) => errorOf(await post(desk, "ben", path, body));
  const now = `items/${phone}/order_now`;
  assert.equal(await refuse(now, { variables: answers }), "400 Invalid quantity value: ");
  assert.equal(await refuse(now, { sysparm_quantity: "-1", variables: answers }), "400 Invalid quantity value: ");
  assert.equal(await refuse(now, { sysparm_quantity: 1 }), "400 Mandatory Variables are required: ");
  assert.equal(
    await refuse(now, { sysparm_quantity: 1, variables: { model: "pixel", data_plan: "" } }),
    "400 Mandatory Variables are required: ",
  );
  const hidden = "400 Security constraints prevent ordering of Item: ";
  assert.equal(await refuse(`items/${sysId("5d")}/order_now`, { sysparm_quantity: 1 }), hidden);
  assert.equal(await refuse(`items/${issue}/order_now`, { sysparm_quantity: 1 }), "400 Invalid Request: ");
  desk.instance.habits.requestForOthers = "deny";
  const forAda = { sysparm_quantity: 1, sysparm_requested_for: sysId("a1"), variables: answers };
  assert.equal(await refuse(now, forAda), hidden);
});

Deno.test("Service Catalog API: a cart holds items until it is submitted", async () => {
  await using desk = await openDesk();
  assert.equal(errorOf(await post(desk, "ben", "cart/submit_order")), "400 Cart is empty. Cannot check out: ");
  const add = () => post(desk, "ben", `items/${phone}/add_to_cart`, { sysparm_quantity: 1, variables: answers });
  await add();
  const { body } = await add();
  assert.deepEqual([body.result.items.length, body.result.subtotal], [2, "$800.00"]);
  const remove = await desk.ask("ben", `${catalog}/cart/${body.result.items[0].cart_item_id}`, { method: "DELETE" });
  assert.equal(remove.status, 204);
  const cart = (await desk.ask("ben", `${catalog}/cart`)).body.result;
  assert.deepEqual([cart.none.items.length, cart.subtotal_price], [1, "$400.00"]);
  assert.equal((await desk.ask("ada", `${catalog}/cart`)).body.result.none, undefined, "a cart of her own");
  const submitted = await post(desk, "ben", "cart/submit_order");
  assert.match(submitted.body.result.request_number, /^REQ/);
  assert.equal((await desk.ask("ben", `${catalog}/cart`)).body.result.none, undefined);
  await add();
  assert.equal((await desk.ask("ben", `${catalog}/cart/${cart.cart_id}/empty`, { method: "DELETE" })).status, 204);
  assert.equal((await desk.ask("ben", `${catalog}/cart`)).body.result.none, undefined);
});

Deno.test("Service Catalog API: with a second step, ordering now only fills the cart", async () => {
  await using desk = await openDesk({ habits: { checkout: "two_step" } });
  const order = await post(desk, "ben", `items/${phone}/order_now`, { sysparm_quantity: 1, variables: answers });
  assert.deepEqual(Object.keys(order.body.result), ["cart_id"]);
  const checkout = await post(desk, "ben", "cart/checkout");
  assert.equal(checkout.body.result.none.items.length, 1);
  assert.match((await post(desk, "ben", "cart/submit_order")).body.result.request_number, /^REQ/);
});

Deno.test("Service Catalog API: a record producer makes a record of its table", async () => {
  await using desk = await openDesk();
  const produce = (id: string, variables: unknown) => post(desk, "ben", `items/${id}/submit_producer`, { variables });
  const { status, body } = await produce(issue, { short_description: "No tone", urgency: "1", state: "7" });
  assert.equal(status, 200);
  assert.equal(body.result.table, "incident");
  const [incident] = await desk.find(
    "ben",
    "incident",
    `number=${body.result.number}`,
    "short_description,state,urgency",
  );
  assert.deepEqual(incident, { short_description: "No tone", state: "1", urgency: "1" }, "state is not asked for");
  assert.equal(errorOf(await produce(issue, { urgency: "1" })), "400 Mandatory Variables are required: ");
  assert.equal(errorOf(await produce(phone, answers)), "400 Invalid Request: ");
  assert.equal((await produce(sysId("00"), {})).status, 404);
});
