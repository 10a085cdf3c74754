/** `completion/complete`: suggestions for the arguments of prompts and the variables of templates. */
import { hasScopes } from "../lib/principal.ts";
import type { McpAnswer } from "./answer.ts";
import { answerError, answerResult, type Call } from "./call.ts";
import { isObject } from "../lib/json.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import type { PromptRegistry } from "./prompt.ts";
import type { ResourceRegistry } from "./resource.ts";
import { refuseScopes } from "./refusals.ts";

const maxValues = 100; // MCP schema, CompleteResult

/** Answers with the suggestions of the prompt or the family that is asked about. */
export async function complete(
  options: { readonly prompts: PromptRegistry; readonly resources: ResourceRegistry },
  call: Call,
): Promise<McpAnswer> {
  const { params } = call.request;
  const invalid = (message: string): McpAnswer => answerError(call, rpcErrorCode.invalidParams, message);
  const { ref, argument, context } = isObject(params) ? params : {};
  if (!isObject(argument) || typeof argument["name"] !== "string" || typeof argument["value"] !== "string") {
    return invalid("params.argument must have a name and a value");
  }
  const { name, value } = argument;
  const others = isObject(context) && isObject(context["arguments"])
    ? context["arguments"] as Record<string, string>
    : {};
  if (isObject(ref) && ref["type"] === "ref/prompt" && typeof ref["name"] === "string") {
    const prompt = options.prompts.get(ref["name"]);
    if (prompt === undefined) return invalid(`Unknown prompt: ${ref["name"]}`);
    if (!hasScopes(call.principal, prompt.scopes)) return refuseScopes(call, prompt.scopes);
    return answerValues(call, await prompt.complete?.(name, value, others) ?? []);
  }
  if (isObject(ref) && ref["type"] === "ref/resource" && typeof ref["uri"] === "string") {
    const { uri } = ref;
    const family = options.resources.all().find(({ templates }) => templates.some((each) => each.uriTemplate === uri));
    if (family === undefined) return invalid(`Unknown resource template: ${uri}`);
    if (!hasScopes(call.principal, family.scopes)) return refuseScopes(call, family.scopes);
    return answerValues(call, await family.complete?.(uri, name, value, others, call.principal) ?? []);
  }
  return invalid("params.ref must name a prompt or a resource template");
}

function answerValues(call: Call, values: readonly string[]): McpAnswer {
  const completion = { values: values.slice(0, maxValues), total: values.length, hasMore: values.length > maxValues };
  return answerResult(call, JSON.stringify({ completion }));
}
