/** The tool `servicenow_order`: orders from the service catalog. */
import * as z from "zod";
import { defineTool, type Tool } from "../mcp/tool.ts";
import type { OrderReport } from "./catalog_port.ts";
import type { ServicenowRecords } from "./port.ts";
import { orderNames } from "./argument_names_tool.ts";
import { answerWith, callerOf, dryRunParameter, given } from "./outcome_tool.ts";
import { oneLine } from "./record_lines_tool.ts";

const maxQuantity = 100;

export function servicenowOrderTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_order",
    title: "Order from the ServiceNow catalog",
    description: "Orders a catalog item or submits a record producer. Questions: servicenow_describe item.",
    scopes: ["servicenow:write"],
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    aliases: orderNames,
    places: ["sc_cat_item", "sc_request", "sc_req_item"],
    input: z.object({
      item: z.string().optional().describe("Name, sys_id or link"),
      answers: z.string().optional().describe("As values in servicenow_create; requested_for for another person").meta({
        written: "values",
      }),
      quantity: z.int().min(1).max(maxQuantity).default(1),
      action: z.enum(["order", "add_to_cart", "show_cart", "submit_cart"]).default("order"),
      dry_run: dryRunParameter(),
    }),
    async run({ item, answers, quantity, action, dry_run: dryRun }, context) {
      const request = { item: given(item), answers: given(answers), quantity, action, dryRun };
      return await answerWith(servicenow, servicenow.desk.order(request, callerOf(context)), orderLines);
    },
  });
}

function orderLines(report: OrderReport): readonly string[] {
  const { item, answers, requestedFor, made, cart, items, total, approvers } = report;
  return [
    headingOf(report),
    ...(made === null || made.link === "" ? [] : [made.link]),
    ...items.map(oneLine),
    ...(total === "" ? [] : [`total ${oneLine(total)}`]),
    ...(approvers.length === 0 ? [] : [`waits for the approval of ${oneLine(approvers.join(", "))}`]),
    ...answers.map(({ label, value }) => `${oneLine(label)}: ${value.replaceAll("\n", "\n  ")}`),
    ...(requestedFor === null ? [] : [`requested for ${requestedFor}`]),
    ...(cart === null ? [] : cartLines(cart, item === null)),
  ];
}

function headingOf({ dryRun, item, quantity, made }: OrderReport): string {
  if (item === null) {
    if (made !== null) return `Ordered: ${made.number}`;
    return dryRun ? "Dry run, nothing sent. Would order the cart:" : "The cart:";
  }
  const name = oneLine(item.name);
  const ordered = quantity === 1 ? name : `${quantity} × ${name}`;
  if (made !== null) return `Ordered: ${made.number}, ${ordered}`;
  if (!dryRun) return `${name} is in the cart, NOT ordered yet: action=submit_cart orders all that is in it`;
  const price = item.price === "" ? "" : ` (${oneLine(item.price)} each)`;
  return `Dry run, nothing sent. Would order ${ordered}${price}`;
}

/** Of a cart that was asked for, that it is empty is told too. */
function cartLines({ lines, total }: NonNullable<OrderReport["cart"]>, wasAsked: boolean): readonly string[] {
  if (lines.length === 0) return wasAsked ? ["The cart is empty"] : [];
  const each = lines.map((line) => `- ${line.quantity} × ${oneLine(line.name)} ${oneLine(line.price)}`);
  return total === "" ? each : [...each, `total ${oneLine(total)}`];
}
