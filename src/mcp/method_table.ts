/** The methods of the protocol, of both eras, and what serves them. A revision's own list says which of them it has. */
import { whenReady } from "../lib/when_ready.ts";
import type { McpAnswer } from "./answer.ts";
import { answerResult, type Call } from "./call.ts";
import { complete } from "./complete.ts";
import { answerDiscover, answerInitialize, type OpeningOptions } from "./initialize.ts";
import { listen, type ListenOptions } from "./listen.ts";
import { createPromptsList, createResourcesList, createTemplatesList, createToolsList } from "./lists.ts";
import { getPrompt } from "./prompt_get.ts";
import type { PromptRegistry } from "./prompt.ts";
import { readResource, type ResourceWatchOptions, watchResource } from "./resource_read.ts";
import type { ResourceRegistry } from "./resource.ts";
import { setLogLevel } from "./set_log_level.ts";
import { cancelTask, getTask, updateTask } from "./task_methods.ts";
import { refuseRate, refuseStopped } from "./refusals.ts";
import { callTool } from "./tool_call.ts";
import type { ToolRegistry } from "./tool_registry.ts";

interface MethodTableOptions extends OpeningOptions, ListenOptions, ResourceWatchOptions {
  readonly tools: ToolRegistry;
  readonly prompts: PromptRegistry;
  readonly resources: ResourceRegistry;
}

export type Handler = (call: Call) => McpAnswer | Promise<McpAnswer>;

/**
 * Every method counts like a call, but the handshake, and `ping`, which is to be answered promptly (MCP 2025-11-25,
 * basic/utilities/ping).
 */
const counted = (serve: Handler): Handler => (call) => whenReady(refuseRate(call), (refusal) => refusal ?? serve(call));

/** One that tells what there is, and so gives nothing while calls are stopped. */
const stoppable = (serve: Handler): Handler =>
  counted((call) => {
    const refusal = call.runtime.callWatch.refusal(call.principal);
    return refusal === null ? serve(call) : refuseStopped(call, refusal);
  });

/** Builds the table. Methods of features that the server does not have are left out. */
export function createMethodTable(options: MethodTableOptions): ReadonlyMap<string, Handler> {
  const { features } = options;
  const table = new Map<string, Handler>([
    ["initialize", (call) => answerInitialize(options, call)],
    ["server/discover", (call) => answerDiscover(options, call)],
    ["ping", (call) => answerResult(call, "{}")],
    ["tools/list", counted(createToolsList(options.tools))],
    ["tools/call", (call) => callTool(options, call)],
    ["logging/setLevel", counted((call) => setLogLevel(options, call))],
    ["subscriptions/listen", stoppable((call) => listen(options, call))],
    ["tasks/get", counted(getTask)],
    ["tasks/update", stoppable(updateTask)],
    ["tasks/cancel", counted(cancelTask)],
  ]);
  if (features.prompts) {
    table.set("prompts/list", counted(createPromptsList(options.prompts)));
    table.set("prompts/get", (call) => getPrompt(options, call));
  }
  if (features.resources) {
    table.set("resources/list", stoppable(createResourcesList(options.resources)));
    table.set("resources/templates/list", counted(createTemplatesList(options.resources)));
    table.set("resources/read", (call) => readResource(options, call));
    table.set("resources/subscribe", (call) => watchResource(options, call, true));
    table.set("resources/unsubscribe", (call) => watchResource(options, call, false));
  }
  if (features.prompts || features.resources) {
    table.set("completion/complete", stoppable((call) => complete(options, call)));
  }
  return table;
}
