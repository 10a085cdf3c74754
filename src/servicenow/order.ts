/** Orders from the catalog, by the tool `servicenow_order`, and decisions on what waits for an approval. */
import * as z from "zod";
import { membersOf, otherNames, type Tool, type ToolOutcome } from "../mcp/mod.ts";
import type { ServicenowRecords } from "./servicenow.ts";
import {
  answerWith,
  defineWritingTool,
  dryRun,
  indented,
  nameText,
  type Reader,
  toTextOutcome,
} from "./outcome_tool.ts";
import { allOf, type DeskParts } from "./table_api.ts";
import { attempt, excerpt, invalidInput } from "./failure.ts";
import { displayValue, isSysId, oneLine, plainText, type RecordFields, storedValue } from "./field_values.ts";
import { type CatalogItem, readItem, resolveAnswers } from "./catalog_item.ts";
import { linkTo, maxSearchResults, type RecordPage, searchRecords, type ShownRecord, shownValue } from "./search.ts";
import { given, isKept, namesIn } from "./tables.ts";
import { delegatorsOf, findRecord, type RecordName, resolveReference } from "./find_record.ts";
import { askJson } from "./transport.ts";
import { type ChangeReport, type GivenValue, maxTextCharacters, parseValueLines, planChange } from "./write_record.ts";
import { columnNamed, columnsOf } from "./columns.ts";

const maxQuantity = 100;

/** `servicenow_order`: orders from the service catalog. */
export function servicenowOrderTool(servicenow: ServicenowRecords): Tool {
  return defineWritingTool({
    name: "servicenow_order",
    title: "Order from the ServiceNow catalog",
    description: "Orders a catalog item or submits a record producer. Questions: servicenow_describe item.",
    aliases: {
      ...otherNames({ item: "item_name catalog_item", answers: "variables values" }),
      ...membersOf("answers", "requested_for"),
    },
    places: ["sc_cat_item", "sc_request", "sc_req_item"],
    input: z.object({
      item: nameText.optional().describe("Name, sys_id or link"),
      answers: z.string().optional().describe("As values in servicenow_create; requested_for for another person").meta({
        written: "values",
      }),
      quantity: z.int().min(1).max(maxQuantity).default(1),
      action: z.enum(["order", "add_to_cart", "show_cart", "submit_cart"]).default("order"),
      dry_run: dryRun,
    }),
  }, async ({ item, answers, quantity, action, dry_run: dryRun }, context, reader) => {
    const request = { item: given(item), answers: given(answers), quantity, action, dryRun };
    const show = (report: OrderReport): ToolOutcome => toTextOutcome(orderLines(report, reader), report.madeFrom);
    return await answerWith({ servicenow, context }, orderFromCatalog, request, show);
  });
}

function orderLines(report: OrderReport, reader: Reader): readonly string[] {
  const { item, answers, requestedFor, made, cart, items, total, approvers } = report;
  return [
    reader === "person" ? effectHeading(report) : headingOf(report),
    ...(made === null || made.link === "" ? [] : [made.link]),
    ...items.map(oneLine),
    ...(total === "" ? [] : [`total ${oneLine(total)}`]),
    ...(approvers.length === 0 ? [] : [`waits for the approval of ${oneLine(approvers.join(", "))}`]),
    ...answers.map(({ label, value }) => `${oneLine(label)}: ${indented(value)}`),
    ...(requestedFor === null || made === null ? [] : [`requested for ${requestedFor}`]),
    ...(cart === null ? [] : shownCart(cart, item === null)),
  ];
}

/** `2 × Mobile phone for Petra Wolf (petra), $800.00 ($400.00 each)`. */
function orderWords({ item, quantity, requestedFor, cost }: OrderReport): string {
  const name = oneLine(item?.name ?? "");
  const ordered = quantity === 1 ? name : `${quantity} × ${name}`;
  return `${ordered}${requestedFor === null ? "" : ` for ${requestedFor}`}${cost === "" ? "" : `, ${cost}`}`;
}

function effectHeading(report: OrderReport): string {
  if (report.item === null) return "Order all that is in the cart:";
  if (report.item.isProducer) return `Submit the form ${orderWords(report)}`;
  return report.action === "add_to_cart" ? `Into the cart: ${orderWords(report)}` : `Order ${orderWords(report)}`;
}

function headingOf(report: OrderReport): string {
  const { dryRun, item, made, quantity } = report;
  if (item === null) {
    if (made !== null) return `Ordered: ${made.number}`;
    return report.action === "submit_cart" ? "Dry run, nothing sent. Would order the cart:" : "The cart:";
  }
  const name = oneLine(item.name);
  if (made !== null) return `Ordered: ${made.number}, ${quantity === 1 ? name : `${quantity} × ${name}`}`;
  if (!dryRun) return `${name} is in the cart, NOT ordered yet: action=submit_cart orders all that is in it`;
  return `Dry run, nothing sent. Would order ${orderWords(report)}`;
}

/** If the caller asked for the cart, an empty one is reported too. */
function shownCart({ lines, total }: NonNullable<OrderReport["cart"]>, wasAsked: boolean): readonly string[] {
  if (lines.length === 0) return wasAsked ? ["The cart is empty"] : [];
  const each = lines.map((line) => `- ${line.quantity} × ${oneLine(line.name)} ${oneLine(line.price)}`);
  return total === "" ? each : [...each, `total ${oneLine(total)}`];
}

const maxItemsShown = 20;
const catalogPath = "/api/sn_sc/servicecatalog";
const text = z.union([z.string(), z.number()]).nullish().transform((value) => plainText(String(value ?? "")));
const ordered = z.object({
  sys_id: z.string().nullish(),
  number: z.string().nullish(),
  request_id: z.string().nullish(),
  request_number: z.string().nullish(),
  table: z.string().regex(/^[a-z][a-z0-9_]{1,79}$/).catch("sc_request"),
}).transform(({ sys_id, number, request_id, request_number, table }) => ({
  sysId: request_id ?? sys_id ?? "",
  number: plainText(request_number ?? number ?? ""),
  table,
}));
const cartLines = z.object({ items: z.array(z.object({ item_name: text, name: text, quantity: text, price: text })) });

/** As the instance shows it. */
type Cart = Readonly<ReturnType<typeof toCart>>;

const notOrdered = {
  /** What the instance made of it; `null` where nothing was ordered yet. */
  made: null as { readonly number: string; readonly link: string } | null,
  cart: null as Cart | null,
  /** What it would cost, of an order that is only planned: in words, since not all may be known. */
  cost: "",
  /** Numbers of the requested items, each with how many and its stage. */
  items: [] as readonly string[],
  /** What the whole costs, as the instance shows it; empty where it costs nothing. */
  total: "",
  /** People whose approval the order waits for. */
  approvers: [] as readonly string[],
};

/** What was ordered, or what would be. */
interface OrderReport extends Readonly<typeof notOrdered> {
  readonly action: "order" | "add_to_cart" | "show_cart" | "submit_cart";
  readonly dryRun: boolean;
  readonly item: CatalogItem | null;
  readonly answers: readonly { readonly label: string; readonly value: string }[];
  /** The name of who gets it; `null` for a cart, and where a form makes a record. */
  readonly requestedFor: string | null;
  readonly quantity: number;
  /** What is sent, whole. */
  readonly madeFrom: string;
}

/** What to order, and the answers by question. */
interface OrderRequest extends Pick<OrderReport, "action" | "quantity" | "dryRun"> {
  /** Name, sys_id or link of the item; not needed for the cart as a whole. */
  readonly item?: string | undefined;
  /** `name=value` lines, or a JSON object; `requested_for` names another person. */
  readonly answers?: string | undefined;
}

async function orderFromCatalog(parts: DeskParts, request: OrderRequest): Promise<OrderReport> {
  const { action, item: named, dryRun } = request;
  parts.access.readable("sc_cat_item");
  const nothing = { ...notOrdered, action, dryRun, quantity: 1, item: null, answers: [], requestedFor: null };
  if (action === "show_cart" || (action === "submit_cart" && dryRun)) {
    const cart = await readCart(parts);
    return { ...nothing, cart, madeFrom: JSON.stringify(cart) };
  }
  if (action === "submit_cart") {
    return await report(parts, { ...nothing, madeFrom: "" }, await post(parts, "/cart/submit_order", {}));
  }
  if (named === undefined) throw invalidInput("item parameter is required");
  return await orderItem(parts, request, await readItem(parts, named));
}

async function orderItem(
  parts: DeskParts,
  { action, answers: text = "", quantity, dryRun }: OrderRequest,
  item: CatalogItem,
): Promise<OrderReport> {
  const given = parseValueLines(text, "answers");
  const isForOther = ([name]: GivenValue): boolean =>
    name.trim().toLowerCase() === "requested_for" &&
    !item.questions.some((question) => question.name === "requested_for");
  const { variables, shown } = await resolveAnswers(parts, item, given.filter((each) => !isForOther(each)));
  const other = given.find(isForOther);
  const recipient = other === undefined
    ? null
    : await resolveReference(parts, { table: "sys_user", text: other[1], field: "requested_for" });
  if (item.isProducer) {
    if (action === "add_to_cart") throw invalidInput("a record producer does not go into a cart: use action=order");
    if (recipient !== null) throw invalidInput("a record producer takes no requested_for");
    await refuseClosedProducer(parts, item);
  }
  const step = item.isProducer ? "submit_producer" : action === "add_to_cart" ? "add_to_cart" : "order_now";
  const body = {
    ...(item.isProducer ? {} : { sysparm_quantity: String(quantity) }),
    ...(recipient === null ? {} : { sysparm_requested_for: recipient.sysId }),
    variables,
  };
  const planned: OrderReport = {
    ...notOrdered,
    ...{ action, dryRun, item, answers: shown, quantity },
    requestedFor: item.isProducer ? null : recipient?.name ?? parts.person.account.name,
    madeFrom: JSON.stringify([item.sysId, step, body]),
  };
  if (dryRun && item.isProducer) return planned;
  if (dryRun) return { ...planned, cost: await costOf(parts, { item, quantity, variables }) };
  const made = await post(parts, `/items/${item.sysId}/${step}`, body);
  if (step === "submit_producer" || (step === "order_now" && made.number !== "")) {
    return await report(parts, planned, made);
  }
  // With a second step, the instance has put the item into the cart.
  const cart = await attempt(readCart(parts));
  return { ...planned, cart: cart.ok ? cart.value : null };
}

/** A record producer writes into its own table, which has to be open here too. */
async function refuseClosedProducer({ tableApi, access }: DeskParts, item: CatalogItem): Promise<void> {
  const found = await tableApi.row("sc_cat_item_producer", item.sysId, ["table_name"]);
  const table = storedValue(found, "table_name");
  if (table === "") throw invalidInput("ServiceNow does not show which table the record producer writes to");
  access.writable(table);
  if (!isKept(table)) return;
  throw invalidInput(`a rule decides about calls on ${table}: use servicenow_create with table=${table} instead`);
}

type Ordered = z.output<typeof ordered>;

function post({ callAs, person }: DeskParts, path: string, body: object): Promise<Ordered> {
  const content = { type: "application/json", content: JSON.stringify(body) };
  return askJson(callAs, person, { method: "POST", path: `${catalogPath}${path}`, body: content }, ordered);
}

/** Number and link, and for a request its items, what they cost and who has to approve them. */
async function report(parts: DeskParts, planned: OrderReport, made: Ordered): Promise<OrderReport> {
  const { tableApi, access, instance } = parts;
  const { sysId, table } = made;
  const isId = isSysId(sysId);
  const whole = {
    ...planned,
    made: { number: made.number || sysId, link: isId ? linkTo(instance.origin, table, sysId) : "" },
  };
  if (!isId || table !== "sc_request" || !access.mayRead("sc_req_item")) return whole;
  const fields = ["number", "quantity", "short_description", "stage", "request.price", "request.approval"];
  const request = { query: `request=${sysId}`, fields, limit: maxItemsShown };
  const found = await attempt(tableApi.rows("sc_req_item", request)); // it is ordered, whatever comes of this
  const items = found.ok ? found.value.rows : [];
  const [first] = items;
  if (first === undefined) return whole;
  return {
    ...whole,
    items: items.map((row) =>
      [shownValue(row, "number"), quantityWords(row), shownValue(row, "stage")].filter((each) => each !== "").join(", ")
    ),
    total: shownPrice(first, "request.price"),
    approvers: storedValue(first, "request.approval") === "requested" ? await approversOf(parts, sysId) : [],
  };
}

/** `2 × Mobile phone`, of a requested item. */
function quantityWords(row: RecordFields): string {
  const quantity = shownValue(row, "quantity");
  return `${quantity === "" ? "" : `${quantity} × `}${shownValue(row, "short_description")}`;
}

async function approversOf({ tableApi, access }: DeskParts, sysId: string): Promise<string[]> {
  if (!access.mayRead("sysapproval_approver") || isKept("sysapproval_approver")) return [];
  const query = `sysapproval=${sysId}^ORsysapproval.ref_sc_req_item.request=${sysId}^state=requested`;
  const request = { query, fields: ["approver"], limit: maxItemsShown };
  const found = await attempt(tableApi.rows("sysapproval_approver", request));
  return [...new Set(found.ok ? found.value.rows.map((row) => shownValue(row, "approver")) : [])];
}

async function readCart({ callAs, person }: DeskParts): Promise<Cart> {
  return toCart(await askJson(callAs, person, { path: `${catalogPath}/cart` }, z.record(z.string(), z.unknown())));
}

/** Lines are grouped by how often they are paid; an empty cart has none. */
function toCart(cart: Readonly<Record<string, unknown>>) {
  const lines = [cart, ...Object.values(cart)].flatMap((group) => cartLines.safeParse(group).data?.items ?? []);
  return {
    total: text.parse(typeof cart["subtotal_price"] === "string" ? cart["subtotal_price"] : ""),
    lines: lines.map(({ item_name: itemName, name, quantity, price }) => ({ name: itemName || name, quantity, price })),
  };
}

// The cost of an order, in the currency and format of the instance's prices for the person.

const maxPricedChoices = 1_000;
/** Of a label in which a price is looked for. */
const maxPricedCharacters = 200;
/** What an option adds, in the words of its label: `32 GB (+ CHF 150)`, `32 GB [add $150.00]`. */
const addedPrice = /(?:\+|\badd\b)\s*([^)\]]*\d[^)\]]*)/i;

interface PlannedOrder {
  readonly item: CatalogItem;
  readonly quantity: number;
  readonly variables: Readonly<Record<string, string>>;
}

/** What the whole costs once, and again and again; or what is not known of that. */
async function costOf(parts: DeskParts, order: PlannedOrder): Promise<string> {
  const { item, quantity } = order;
  if (item.price === "") return "price NOT known: ServiceNow does not show it";
  const options = await pricesOfOptions(parts, order);
  const once = totalOf([item.price, ...options.map((each) => each.once)], quantity);
  const recurring = totalOf([item.recurringPrice, ...options.map((each) => each.recurring)], quantity);
  const isWhole = options.every(({ isKnown }) => isKnown);
  return [
    once === "" ? "no price" : once,
    ...(recurring === "" ? [] : [`and ${recurring} recurring`]),
    ...(isWhole ? [] : ["and what the options add, which ServiceNow does not show"]),
  ].join(" ");
}

/** What the chosen and ticked options add, preselected ones included, as it is shown. */
async function pricesOfOptions({ tableApi }: DeskParts, { item: { questions }, variables }: PlannedOrder) {
  const answers = questions.map((question) => ({ ...question, value: variables[question.name] ?? question.initial }));
  const chosen = answers.filter(({ kind, value }) => kind === "choice" && value !== "");
  const ticked = answers.filter(({ kind, value }) => kind === "checkbox" && value === "true");
  const rowsOf = async (table: string, key: string, asked: typeof answers, fields: readonly string[]) => {
    const known = asked.map(({ id }) => id).filter((id) => id !== "");
    if (known.length === 0) return [];
    const request = { query: `${key}IN${known.join(",")}`, fields: [key, ...fields], limit: maxPricedChoices };
    return await tableApi.rowsIfShown(table, request);
  };
  const priceIn = (row: RecordFields | undefined, [once, recurring]: readonly [string, string], inLabel = "") => ({
    once: shownPrice(row, once) || inLabel,
    recurring: shownPrice(row, recurring),
    isKnown: (row !== undefined && once in row) || inLabel !== "",
  });
  const [ofChoice, ofBox] = [["misc", "rec_misc"], ["price_if_checked", "rec_price_if_checked"]] as const;
  const choiceRows = await rowsOf("question_choice", "question", chosen, ["value", ...ofChoice]);
  const boxRows = await rowsOf("item_option_new", "sys_id", ticked, ofBox);
  return [
    ...chosen.map(({ id, value, choices }) => {
      const row = choiceRows.find((each) =>
        storedValue(each, "question") === id && storedValue(each, "value") === value
      );
      const label = choices.find((each) => each.value === value)?.label.slice(0, maxPricedCharacters) ?? "";
      return priceIn(row, ofChoice, addedPrice.exec(label)?.[1]);
    }),
    ...ticked.map(({ id }) => priceIn(boxRows.find((each) => storedValue(each, "sys_id") === id), ofBox)),
  ];
}

/** As the instance shows it; empty where it is none. */
function shownPrice(row: RecordFields | undefined, name: string): string {
  return row === undefined || Number(storedValue(row, name)) === 0 ? "" : shownValue(row, name);
}

/** `CHF 5,100.00 (CHF 2,550.00 each)`; empty where it costs nothing; a sum where the prices cannot be added up. */
function totalOf(prices: readonly string[], quantity: number): string {
  const charged = prices.filter((each) => each !== "" && !/^[^1-9]*0[^1-9]*$/.test(each));
  const amounts = charged.flatMap((each) => amountIn(each) ?? []);
  const form = amounts.find(({ places }) => places > 0) ?? amounts[0];
  const currencies = new Set(amounts.flatMap(({ currency }) => currency || []));
  if (form === undefined || amounts.length < charged.length || currencies.size > 1) {
    const sum = charged.join(" + ");
    return sum === "" || quantity === 1 ? sum : `${quantity} × (${sum})`;
  }
  const each = amounts.reduce((sum, { amount }) => sum + amount, 0);
  return quantity === 1 ? inForm(form, each) : `${inForm(form, each * quantity)} (${inForm(form, each)} each)`;
}

/** A larger one may not be exact to the cent. */
const maxAmount = 1e13;
/** Currencies with three decimals (ISO 4217); of any other, three digits are a group. */
const threeDecimals = /\b(BHD|IQD|JOD|KWD|LYD|OMR|TND)\b/;

/** The number in a price, and how it is written; `null` where none can be read. */
function amountIn(price: string) {
  const [number = ""] = /\d(?:[\d.,'’\s]*\d)?/.exec(price) ?? [];
  const [, point = "", fraction = ""] = /([.,])(\d+)$/.exec(number) ?? [];
  const places = fraction.length === 2 || (fraction.length === 3 && threeDecimals.test(price)) ? fraction.length : 0;
  const amount = Number(number.replace(/\D/g, "")) / 10 ** places;
  const [, group = point === "," && places > 0 ? "." : ","] = /^\d{1,3}([.,'’\s])\d{3}(?!\d)/.exec(number) ?? [];
  if (number === "" || amount > maxAmount) return null;
  return { amount, price, number, places, point, group, currency: price.replace(number, "").trim() };
}

function inForm({ price, number, places, point, group }: NonNullable<ReturnType<typeof amountIn>>, amount: number) {
  const [whole = "", fraction = ""] = amount.toFixed(places).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group);
  return price.replace(number, () => places === 0 ? grouped : `${grouped}${point}${fraction}`);
}

// Approves or rejects an approval that waits for the person, their own or one that ServiceNow delegates to them.

const table = "sysapproval_approver";
const maxApprovals = 10;

/** A decision on an approval; `dryRun`: say what would be sent, and send nothing. */
interface ApprovalRequest extends RecordName {
  readonly dryRun: boolean;
  readonly decision: "approve" | "reject";
  readonly comment?: string | undefined;
}

/** The approval that waits for the person or for whom they stand in: by its sys_id, or by the record that it is about. */
async function waitingApproval(parts: DeskParts, { id, table: named }: ApprovalRequest) {
  const isApproval = isSysId(id.trim()) && (named === undefined || named.trim() === "");
  const about = isApproval
    ? { table, sysId: id.trim().toLowerCase() }
    : await findRecord(parts, { id, table: named }, { fields: [] });
  const { table: owner, sysId: of } = about;
  const target = owner === table ? `sys_id=${of}` : `sysapproval=${of}^ORdocument_id=${of}`;
  const waiting = async (approvers?: readonly string[]): Promise<readonly RecordFields[]> => {
    const asked = approvers === undefined ? "" : `approverIN${approvers.join(",")}`;
    const query = allOf(target, asked, "state=requested");
    const { rows } = await parts.tableApi.rows(table, { query, limit: maxApprovals });
    // An instance may pass over a condition.
    return rows.filter((row) =>
      storedValue(row, "state") === "requested" && approvers?.includes(storedValue(row, "approver")) !== false &&
      ["sys_id", "sysapproval", "document_id"].some((field) => storedValue(row, field) === of)
    );
  };
  const own = await waiting([parts.person.account.sysId]);
  if (own.length > 0) return onlyOne(own, false);
  const delegators = (await delegatorsOf(parts)).map(({ sysId }) => sysId);
  const delegated = delegators.length === 0 ? [] : await waiting(delegators);
  if (delegated.length > 0) return onlyOne(delegated, true);
  const others = await attempt(waiting());
  const names = others.ok ? others.value.map((row) => shownValue(row, "approver")) : [];
  const more = names.length < maxApprovals ? [] : ["and more"];
  const waits = names.length === 0 ? "" : `; it waits for ${[...new Set(names), ...more].join(", ")}`;
  throw invalidInput(`nothing about ${excerpt(id)} waits for this user's approval${waits}`);
}

function onlyOne(rows: readonly RecordFields[], isDelegated: boolean) {
  const [approval, second] = rows;
  if (approval !== undefined && second === undefined) {
    /** `inPlaceOf`: who was asked, where the person is their delegate. */
    return { approval, inPlaceOf: isDelegated ? shownValue(approval, "approver") : null };
  }
  const ids = rows.map((row) =>
    `${storedValue(row, "sys_id")} for ${shownValue(row, "approver")}, of ${shownValue(row, "sys_created_on")}`
  );
  throw invalidInput(`several approvals wait for this user; give one's sys_id: ${ids.join("; ")}`);
}

export async function decideApproval(parts: DeskParts, request: ApprovalRequest): Promise<ChangeReport> {
  const { decision, comment = "", dryRun } = request;
  if (decision === "reject" && comment.trim() === "") throw invalidInput("comment is required to reject");
  if (comment.length > maxTextCharacters) {
    throw invalidInput(`comment must have at most ${maxTextCharacters} characters`);
  }
  parts.access.readable(table);
  const { approval: before, inPlaceOf } = await waitingApproval(parts, request);
  const columns = await columnsOf(parts, table);
  const column = columnNamed(columns, "state");
  if (column === undefined) throw invalidInput("ServiceNow does not show this user the state of approvals");
  const [stored, shown] = decision === "approve" ? ["approved", "Approved"] : ["rejected", "Rejected"];
  const values = [{ name: column.name, column, stored, shown }];
  const about = displayValue(before, "sysapproval") || displayValue(before, "document_id");
  const name = inPlaceOf === null ? `Approval of ${about}` : `Approval of ${about} on behalf of ${inPlaceOf}`;
  const { planned, finish } = planChange(parts, { table, before, values });
  if (dryRun) {
    const said = { name: "comments", label: "Comments", before: "", after: plainText(comment) };
    const changes = comment === "" ? planned.changes : [...planned.changes, said];
    return { ...planned, name, changes, title: await whatIsApproved(parts, before) };
  }
  const body = { state: stored, ...(comment === "" ? {} : { comments: comment }) };
  const after = await parts.tableApi.update(table, storedValue(before, "sys_id"), body);
  return { ...finish(after), name, notes: await stateOf(parts, before) };
}

/** `2 × Developer Laptop for Petra Wolf, CHF 4,800.00`: what was ordered, or the title of any other record. */
async function whatIsApproved({ tableApi, access }: DeskParts, approval: RecordFields): Promise<string> {
  const [sysId, actual] = [storedValue(approval, "sysapproval"), storedValue(approval, "source_table")];
  if (!isSysId(sysId) || !access.mayRead(actual) || isKept(actual)) return "";
  const isRequest = actual === "sc_request";
  if (!access.mayRead("sc_req_item") || isKept("sc_req_item") || (!isRequest && actual !== "sc_req_item")) {
    const found = await attempt(tableApi.row(actual, sysId, ["short_description"]));
    return found.ok ? oneLine(shownValue(found.value, "short_description")) : "";
  }
  const query = `${isRequest ? "request" : "sys_id"}=${sysId}`;
  const rows = await tableApi.rowsIfShown("sc_req_item", { query, fields: orderFields, limit: maxItemsShown });
  return wordsOfOrder(rows, isRequest);
}

const orderFields = namesIn("request number short_description quantity request.requested_for request.price");

/** `Developer Laptop, 2 × Mobile phone for Petra Wolf, CHF 2,400.00`: what was ordered, and a whole request's price. */
function wordsOfOrder(items: readonly RecordFields[], isRequest: boolean): string {
  const [first] = items;
  if (first === undefined) return "";
  const names = items.slice(0, maxItemsShown).map((row) => quantityWords(row).replace(/^1 × /, ""));
  const recipient = shownValue(first, "request.requested_for");
  const price = isRequest ? shownPrice(first, "request.price") : "";
  const whole = items.length >= maxItemsShown ? [...names, "and more"] : names;
  return oneLine(
    `${whole.join(", ")}${recipient === "" ? "" : ` for ${recipient}`}${price === "" ? "" : `, ${price}`}`,
  );
}

/** A page of a search. Approvals of orders, which have no title of their own, say what was ordered. */
export async function searchWithOrders(
  parts: DeskParts,
  search: Parameters<typeof searchRecords>[1],
): Promise<RecordPage> {
  const page = await searchRecords(parts, search);
  const numberIn = ({ fields }: ShownRecord): string => fields.find(({ name }) => name === "sysapproval")?.value ?? "";
  const orders = page.records.map(numberIn).filter((number) => /^R(EQ|ITM)\d{4,12}$/.test(number)).join(",");
  const mayRead = parts.access.mayRead("sc_req_item") && !isKept("sc_req_item");
  if (page.table !== table || orders === "" || !mayRead) return page;
  const query = `request.numberIN${orders}^ORnumberIN${orders}`;
  const request = { query, fields: orderFields, limit: maxItemsShown * maxSearchResults };
  const rows = await parts.tableApi.rowsIfShown("sc_req_item", request);
  const records = page.records.map((record) => {
    const number = numberIn(record);
    const isRequest = number.startsWith("REQ");
    const items = rows.filter((row) => displayValue(row, isRequest ? "request" : "number") === number);
    const title = { name: "sysapproval.short_description", value: wordsOfOrder(items, isRequest) };
    const others = record.fields.filter(({ name }) => name !== title.name);
    return title.value === "" ? record : { ...record, fields: [...others, title] };
  });
  return { ...page, records };
}

/** What the decision did to the record that it is about. */
async function stateOf({ tableApi, access }: DeskParts, approval: RecordFields): Promise<readonly string[]> {
  const sysId = storedValue(approval, "sysapproval");
  const actual = storedValue(approval, "source_table");
  if (!isSysId(sysId) || !access.mayRead(actual) || isKept(actual)) return [];
  const state = actual === "sc_request" ? "request_state" : "state"; // a request's own state stays open until all is closed
  const found = await attempt(tableApi.row(actual, sysId, ["number", "approval", state]));
  if (!found.ok) return [];
  const [number, approved, now] = ["number", "approval", state].map((field) => shownValue(found.value, field));
  return [`${number}: approval ${approved}, state ${now}`];
}
