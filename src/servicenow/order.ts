/** Orders from the catalog: one item, a cart, or a record producer. What orders is sent once. */
import * as z from "zod";
import { type Result, success } from "../lib/result.ts";
import { type GivenValue, parseValueLines } from "./resolve_values.ts";
import type { DeskParts, Person } from "./table_api.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import { plainText, storedValue } from "./field_values.ts";
import type { Cart, CatalogItem, OrderReport, OrderRequest, RecordFields } from "./port.ts";
import { linkTo, shownValue } from "./search.ts";
import { readItem, resolveAnswers, type ResolvedAnswers } from "./catalog_item.ts";
import { resolveReference } from "./find_record.ts";
import { askJson } from "./calls.ts";

const maxItemsShown = 20;
const catalogPath = "/api/sn_sc/servicecatalog";
const ordered = z.object({
  sys_id: z.string().nullish(),
  number: z.string().nullish(),
  request_id: z.string().nullish(),
  request_number: z.string().nullish(),
  table: z.string().nullish(),
  cart_id: z.string().nullish(),
});
const text = z.union([z.string(), z.number()]).nullish().transform((value) => plainText(String(value ?? "")));
const cartLine = z.object({ item_name: text, name: text, quantity: text, price: text });

const notOrdered = { made: null, cart: null, items: [], total: "", approvers: [] } as const;
const unknownCart: Cart = { lines: [], total: "" };

type Answer<T> = Promise<Result<T, ServicenowFailure>>;

export async function orderFromCatalog(parts: DeskParts, request: OrderRequest, person: Person): Answer<OrderReport> {
  const { action, item: named, dryRun } = request;
  const open = parts.access.readable("sc_cat_item");
  if (!open.ok) return open;
  const nothing = { ...notOrdered, dryRun, quantity: 1, item: null, answers: [], requestedFor: null };
  if (action === "show_cart" || (action === "submit_cart" && dryRun)) {
    const cart = await readCart(parts, person);
    return cart.ok ? success({ ...nothing, cart: cart.value }) : cart;
  }
  if (action === "submit_cart") {
    const made = await post(parts, { path: "/cart/submit_order", body: {} }, person);
    return made.ok ? await report(parts, { ...nothing, dryRun: false }, made.value, person) : made;
  }
  if (named === undefined) return invalidInput("item parameter is required");
  const item = await readItem(parts, named, person);
  if (!item.ok) return item;
  return await orderItem(parts, request, item.value, person);
}

async function orderItem(
  parts: DeskParts,
  { action, answers: text = "", quantity, dryRun }: OrderRequest,
  item: CatalogItem,
  person: Person,
): Answer<OrderReport> {
  const given = parseValueLines(text, "answers");
  if (!given.ok) return invalidInput(given.error);
  const isForOther = ([name]: GivenValue): boolean =>
    name.trim().toLowerCase() === "requested_for" &&
    !item.questions.some((question) => question.name === "requested_for");
  const answers = await resolveAnswers(parts, item, given.value.filter((each) => !isForOther(each)), person);
  if (!answers.ok) return answers;
  const other = given.value.find(isForOther);
  const recipient = other === undefined
    ? success(null)
    : await resolveReference(parts, { table: "sys_user", text: other[1], field: "requested_for" }, person);
  if (!recipient.ok) return recipient;
  if (item.isProducer) {
    if (action === "add_to_cart") return invalidInput("a record producer does not go into a cart: use action=order");
    if (recipient.value !== null) return invalidInput("a record producer takes no requested_for");
    const open = await producerTable(parts, item, person);
    if (!open.ok) return open;
  }
  const planned: OrderReport = {
    dryRun,
    item,
    answers: answers.value.shown,
    requestedFor: recipient.value?.name ?? null,
    quantity,
    ...notOrdered,
  };
  if (dryRun) return success(planned);
  const step = item.isProducer ? "submit_producer" : action === "add_to_cart" ? "add_to_cart" : "order_now";
  const body = orderBody(answers.value, item.isProducer ? null : quantity, recipient.value?.sysId);
  const made = await post(parts, { path: `/items/${item.sysId}/${step}`, body }, person);
  if (!made.ok) return made;
  if (step === "add_to_cart") {
    const cart = await readCart(parts, person);
    return success({ ...planned, cart: cart.ok ? cart.value : unknownCart });
  }
  if (step === "submit_producer" || numberOf(made.value) !== "") {
    return await report(parts, planned, made.value, person);
  }
  // With a second step, the instance has put the item into the cart. What else is in there was not asked for now.
  const cart = await readCart(parts, person);
  if (!cart.ok || cart.value.lines.length !== 1) {
    return success({ ...planned, cart: cart.ok ? cart.value : unknownCart });
  }
  const submitted = await post(parts, { path: "/cart/submit_order", body: {} }, person);
  return submitted.ok ? await report(parts, planned, submitted.value, person) : submitted;
}

function orderBody(
  { variables }: ResolvedAnswers,
  quantity: number | null,
  requestedFor: string | undefined,
): Readonly<Record<string, unknown>> {
  return {
    ...(quantity === null ? {} : { sysparm_quantity: String(quantity) }),
    ...(requestedFor === undefined ? {} : { sysparm_requested_for: requestedFor }),
    variables,
  };
}

/** A record producer writes into a table of its own: that has to be open here too. */
async function producerTable({ tableApi, access }: DeskParts, item: CatalogItem, person: Person): Answer<string> {
  const found = await tableApi.row("sc_cat_item_producer", item.sysId, person, ["table_name"]);
  if (!found.ok) return found;
  const table = storedValue(found.value, "table_name");
  return table === ""
    ? invalidInput("ServiceNow does not show which table the record producer writes to")
    : access.writable(table);
}

type Ordered = z.output<typeof ordered>;

function numberOf({ request_number: requestNumber, number }: Ordered): string {
  return plainText(requestNumber ?? number ?? "");
}

async function post(
  { callAs }: DeskParts,
  { path, body }: { readonly path: string; readonly body: Readonly<Record<string, unknown>> },
  person: Person,
): Answer<Ordered> {
  const content = { type: "application/json", content: JSON.stringify(body) };
  return await askJson(callAs, person, { method: "POST", path: `${catalogPath}${path}`, body: content }, ordered);
}

/** Number and link, and for a request its items, what they cost and who has to approve them. */
async function report(
  parts: DeskParts,
  planned: OrderReport,
  made: Ordered,
  person: Person,
): Answer<OrderReport> {
  const { tableApi, access, instance } = parts;
  const sysId = made.request_id ?? made.sys_id ?? "";
  const table = /^[a-z][a-z0-9_]{1,79}$/.test(made.table ?? "") ? made.table ?? "sc_request" : "sc_request";
  const isId = /^[0-9a-f]{32}$/.test(sysId);
  const whole = {
    ...planned,
    made: { number: numberOf(made) || sysId, link: isId ? linkTo(instance.origin, table, sysId) : "" },
  };
  if (!isId || table !== "sc_request" || !access.mayRead("sc_req_item")) return success(whole);
  const fields = ["number", "quantity", "short_description", "stage", "request.price", "request.approval"];
  const items = await tableApi.rows("sc_req_item", { query: `request=${sysId}`, fields, limit: maxItemsShown }, person);
  const [first] = items.ok ? items.value.rows : [];
  if (!items.ok || first === undefined) return success(whole);
  return success({
    ...whole,
    items: items.value.rows.map(itemWords),
    total: Number(storedValue(first, "request.price")) === 0 ? "" : shownValue(first, "request.price"),
    approvers: storedValue(first, "request.approval") === "requested" ? await approversOf(parts, sysId, person) : [],
  });
}

/** `RITM0010003, 2 × Mobile phone, Fulfillment`. */
function itemWords(row: RecordFields): string {
  const quantity = shownValue(row, "quantity");
  const name = shownValue(row, "short_description");
  return [shownValue(row, "number"), quantity === "" ? name : `${quantity} × ${name}`, shownValue(row, "stage")]
    .filter((each) => each !== "").join(", ");
}

async function approversOf({ tableApi, access }: DeskParts, request: string, person: Person): Promise<string[]> {
  if (!access.mayRead("sysapproval_approver")) return [];
  const query = `sysapproval=${request}^ORsysapproval.ref_sc_req_item.request=${request}^state=requested`;
  const found = await tableApi.rows(
    "sysapproval_approver",
    { query, fields: ["approver"], limit: maxItemsShown },
    person,
  );
  return found.ok ? [...new Set(found.value.rows.map((row) => shownValue(row, "approver")))] : [];
}

async function readCart({ callAs }: DeskParts, person: Person): Answer<Cart> {
  const parsed = await askJson(callAs, person, { path: `${catalogPath}/cart` }, z.record(z.string(), z.unknown()));
  return parsed.ok ? success(toCart(parsed.value)) : parsed;
}

/** Lines are grouped by how often they are paid; an empty cart has none. */
function toCart(cart: Readonly<Record<string, unknown>>): Cart {
  const lines = [cart, ...Object.values(cart)].flatMap((group) => {
    const parsed = z.object({ items: z.array(cartLine) }).safeParse(group);
    return parsed.success ? parsed.data.items : [];
  });
  return {
    total: text.parse(typeof cart["subtotal_price"] === "string" ? cart["subtotal_price"] : ""),
    lines: lines.map(({ item_name: itemName, name, quantity, price }) => ({ name: itemName || name, quantity, price })),
  };
}
