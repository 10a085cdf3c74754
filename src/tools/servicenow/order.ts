/** The tool `servicenow_order`: orders from the service catalog. */
import * as z from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import type { OrderReport } from "../../servicenow/catalog/port.ts";
import type { ServicenowRecords } from "../../servicenow/port.ts";
import { callerOf, dryRunParameter, given, toFailureOutcome, toTextOutcome } from "./outcome.ts";

const maxQuantity = 100;

export function servicenowOrderTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_order",
    title: "Order from the ServiceNow catalog",
    description: "Orders a catalog item or submits a record producer. Questions: servicenow_describe item.",
    scopes: ["servicenow:write"],
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    places: ["sc_cat_item", "sc_request", "sc_req_item"],
    input: z.object({
      item: z.string().optional().describe("Name, sys_id or link"),
      answers: z.string().optional().describe("As values in servicenow_create; requested_for for another person"),
      quantity: z.int().min(1).max(maxQuantity).default(1),
      action: z.enum(["order", "add_to_cart", "show_cart", "submit_cart"]).default("order"),
      dry_run: dryRunParameter,
    }),
    async run({ item, answers, quantity, action, dry_run: dryRun }, context) {
      const request = { item: given(item), answers: given(answers), quantity, action, dryRun };
      const ordered = await servicenow.desk.order(request, callerOf(context));
      return ordered.ok ? toTextOutcome(orderLines(ordered.value)) : toFailureOutcome(servicenow, ordered.error);
    },
  });
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function orderLines({ dryRun, item, answers, requestedFor, made, cart, items }: OrderReport): readonly string[] {
  const name = item === null ? "The cart" : oneLine(item.name);
  const price = item === null || item.price === "" ? "" : ` (${oneLine(item.price)} each)`;
  const heading = made !== null
    ? `Ordered: ${made.number}${item === null ? "" : `, ${name}`}`
    : dryRun && item !== null
    ? `Dry run, nothing sent. Would order ${name}${price}`
    : item !== null
    ? `${name} is in the cart, NOT ordered yet: action=submit_cart orders all that is in it`
    : dryRun
    ? "Dry run, nothing sent. Would order the cart:"
    : "The cart:";
  return [
    heading,
    ...(made === null || made.link === "" ? [] : [made.link]),
    ...items.map(oneLine),
    ...answers.map(({ label, value }) => `${oneLine(label)}: ${value.replaceAll("\n", "\n  ")}`),
    ...(requestedFor === null ? [] : [`requested for ${requestedFor}`]),
    ...(cart === null
      ? []
      : cart.length === 0
      ? ["The cart is empty"]
      : cart.map((line) => `- ${line.quantity} × ${oneLine(line.name)} ${oneLine(line.price)}`)),
  ];
}
