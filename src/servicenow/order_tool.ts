/** The tool `servicenow_order`: orders from the service catalog. */
import * as z from "zod";
import { defineTool, type Tool, type ToolContext } from "../mcp/mod.ts";
import type { Linking, OrderReport, ServicenowRecords } from "./port.ts";
import { approveNames, orderNames } from "./argument_names_tool.ts";
import { answerWith, callerOf, dryRunParameter, given } from "./outcome_tool.ts";
import { oneLine } from "./get_record_tool.ts";
import { answerWithReport } from "./write_tools.ts";

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

function headingOf({ dryRun, item, quantity, made, answers }: OrderReport): string {
  if (item === null) {
    if (made !== null) return `Ordered: ${made.number}`;
    return dryRun ? "Dry run, nothing sent. Would order the cart:" : "The cart:";
  }
  const name = oneLine(item.name);
  const ordered = quantity === 1 ? name : `${quantity} × ${name}`;
  if (made !== null) return `Ordered: ${made.number}, ${ordered}`;
  if (!dryRun) return `${name} is in the cart, NOT ordered yet: action=submit_cart orders all that is in it`;
  const hasExtra = answers.some(({ value }) => /[+]\s?\D{0,4}\d/.test(value));
  const price = item.price === ""
    ? ""
    : ` (${oneLine(item.price)} each${hasExtra ? ", and what the answers add" : ""})`;

  return `Dry run, nothing sent. Would order ${ordered}${price}`;
}

/** Of a cart that was asked for, that it is empty is told too. */
function cartLines({ lines, total }: NonNullable<OrderReport["cart"]>, wasAsked: boolean): readonly string[] {
  if (lines.length === 0) return wasAsked ? ["The cart is empty"] : [];
  const each = lines.map((line) => `- ${line.quantity} × ${oneLine(line.name)} ${oneLine(line.price)}`);
  return total === "" ? each : [...each, `total ${oneLine(total)}`];
}

// The tool `servicenow_approve`: the person's own decision on what waits for it.

export function servicenowApproveTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_approve",
    title: "Approve or reject in ServiceNow",
    description:
      "Gives the user's own decision, or as a delegate. What waits: servicenow_search sysapproval_approver, approver=me, " +
      "state=Requested.",
    scopes: ["servicenow:write"],
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    aliases: approveNames,
    places: ["sysapproval_approver"],
    input: z.object({
      id: z.string().describe("Number of what is to be approved, or the approval's sys_id"),
      decision: z.enum(["approve", "reject"]),
      comment: z.string().optional().describe("Required to reject"),
      dry_run: dryRunParameter(),
    }),
    async run({ id, decision, comment, dry_run: dryRun }, context) {
      const request = { id, decision, comment: given(comment), dryRun };
      return await answerWithReport(servicenow, servicenow.desk.decide(request, callerOf(context)));
    },
  });
}

// * A person who has linked no account is asked to, before the tool does anything, where the client can open a page for
// them. The call goes on once they have; other clients get the tool's refusal, which names the page.

export function askToLink(tool: Tool, linking: Linking): Tool {
  const run: Tool["run"] = async (input, context) => {
    if (!await linking.isLinked(context.principal.subject)) await waitForLink(linking, context);
    return await tool.run(input, context);
  };
  return {
    ...tool,
    run: (input, context) => context.supports("url_elicitation") ? run(input, context) : tool.run(input, context),
  };
}

async function waitForLink(linking: Linking, context: ToolContext): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, context.answerNow, stop.signal]);
  const message = "Link your ServiceNow account: the agent acts there as you, with your rights only.";
  const page = { method: "elicitation/create", params: { mode: "url", message, url: linking.url } } as const;
  await context.handOut();
  context.progress({ progress: 0, message: `Waiting for a ServiceNow account at ${linking.url}` });
  const linked = linking.whenLinked(context.principal.subject, signal);
  // To accept is to open the page: the link itself is what the call waits for.
  const asked = context.ask({ link: page }).then((answers) => {
    if (answers.ok && answers.value.link.action !== "accept") stop.abort();
    return linked;
  });
  await Promise.race([linked, asked]).finally(() => stop.abort());
}
