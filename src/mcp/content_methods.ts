/** `resources/read`, `resources/subscribe` and `resources/unsubscribe`. */
import { didYouMean } from "../lib/closest_word.ts";
import { hasScopes } from "../lib/principal.ts";
import { answerError, answerResult, type Call, logCrash, type McpAnswer } from "./call.ts";
import { isObject } from "../lib/json.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import { canonicalUri, familyOf, noticesOf, type ResourceFamily, type ResourceOutcome } from "./resource.ts";
import { runInContext } from "./run_in_context.ts";
import { encodeBlock, refuseRate, refuseScopes, refuseStopped } from "./tool_call.ts";
import type { Session } from "./session.ts";
import type { Prompt, PromptOutcome } from "./prompt.ts";

/** Reads a resource. An address of no family, or of none of its resources, is an error of the protocol. */
export async function readResource(call: Call): Promise<McpAnswer> {
  const uri = uriOf(call);
  if (uri === null) return answerError(call, rpcErrorCode.invalidParams, "params.uri must be a string");
  const family = familyOf(call.runtime.resources, uri);
  if (family === undefined) return notFound(call, uri);
  if (!hasScopes(call.principal, family.scopes)) return refuseScopes(call, family.scopes);
  return await refuseRate(call) ?? await readAdmitted(family, uri, call);
}

function readAdmitted(family: ResourceFamily, uri: string, call: Call): Promise<McpAnswer> {
  return runInContext<ResourceOutcome>(call, {
    run: (context) => family.read(uri, context),
    encode(outcome) {
      if (outcome === null) return notFound(call, uri);
      if ("refusal" in outcome) return answerError(call, rpcErrorCode.invalidParams, outcome.refusal, { uri });
      const result = call.revision.withCacheHint({ contents: outcome.contents }, family.cacheHint);
      return answerResult(call, JSON.stringify(result));
    },
    crash(error, words) {
      logCrash(call, "resource", family.name, error);
      return answerError(call, rpcErrorCode.internalError, words ?? "Internal server error");
    },
    fail: (_code, message) => answerError(call, rpcErrorCode.invalidParams, message),
  });
}

/**
 * Begins or ends a legacy session's watch over a resource, which the session's stream is to `follow`. That is a write,
 * so it counts like a call.
 */
export async function watchResource(
  call: Call,
  wanted: boolean,
  follow: (session: Session) => void,
): Promise<McpAnswer> {
  const uri = uriOf(call);
  if (uri === null) return answerError(call, rpcErrorCode.invalidParams, "params.uri must be a string");
  const { session, runtime: { limits, resources, sessions } } = call;
  if (session === null) {
    return answerError(
      call,
      rpcErrorCode.invalidRequest,
      "Subscriptions need a session: send initialize, and its Mcp-Session-Id with this request",
    );
  }
  const family = familyOf(resources, uri);
  if (family === undefined) return notFound(call, uri);
  if (!hasScopes(call.principal, family.scopes)) return refuseScopes(call, family.scopes);
  if (wanted && !noticesOf(resources).ofResources) {
    // Told so at the opening: `subscribe` is not among the capabilities (MCP 2025-11-25, server/resources).
    return answerError(call, rpcErrorCode.methodNotFound, "This server gives no notices of changes to resources");
  }
  if (wanted && family.watch === undefined) {
    return answerError(call, rpcErrorCode.invalidParams, "There are no notices of changes to this resource", { uri });
  }
  const own = canonicalUri(resources, uri);
  const isSame = (other: string): boolean => canonicalUri(resources, other) === own;
  const refusal = await refuseRate(call);
  if (refusal !== null) return refusal;
  const stopped = wanted ? call.runtime.callWatch.refusal(call.principal) : null;
  if (stopped !== null) return refuseStopped(call, stopped);
  // whether anything is there is not asked: an address of a judged place answers like any other
  if (wanted && await family.mayWatch?.(uri, call.principal) === false) {
    return answerError(call, rpcErrorCode.invalidParams, "The owner of this server does not allow this.", { uri });
  }
  if (!await sessions.setSubscription(session, uri, wanted, isSame)) {
    const words = `At most ${limits.maxSubscriptions} resources can be watched, and fewer with long addresses`;
    return answerError(call, rpcErrorCode.invalidRequest, words);
  }
  follow(session);
  return answerResult(call, "{}");
}

function notFound(call: Call, uri: string): McpAnswer {
  return answerError(call, call.revision.resourceNotFoundCode, "Resource not found", { uri });
}

function uriOf({ request: { params } }: Call): string | null {
  return isObject(params) && typeof params["uri"] === "string" ? params["uri"] : null;
}

export async function getPrompt(call: Call): Promise<McpAnswer> {
  const { params } = call.request;
  if (!isObject(params) || typeof params["name"] !== "string") return invalid(call, "params.name must be a string");
  const prompt = call.runtime.prompts.get(params["name"]);
  if (prompt === undefined) return unknownPrompt(call, params["name"]);
  if (!hasScopes(call.principal, prompt.scopes)) return refuseScopes(call, prompt.scopes);
  return await refuseRate(call) ?? await renderPrompt(prompt, withoutNulls(params["arguments"]), call);
}

function withoutNulls(given: unknown = {}): unknown {
  return isObject(given) ? Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) : given;
}

async function renderPrompt(prompt: Prompt, given: unknown, call: Call): Promise<McpAnswer> {
  if (!isObject(given) || !Object.values(given).every((value) => typeof value === "string")) {
    return invalid(call, "params.arguments must be an object of strings");
  }
  const absent = prompt.arguments.find(({ name, required }) => required && !Object.hasOwn(given, name));
  if (absent !== undefined) return invalid(call, `${absent.name} parameter is required`);
  return await runInContext<PromptOutcome>(call, {
    run: (context) => prompt.render(given as Record<string, string>, context),
    encode(outcome) {
      if (!outcome.ok) return answerError(call, rpcErrorCode.invalidParams, outcome.message);
      const { revision, exchange } = call;
      const messages = outcome.messages.map(({ role, content }) => ({
        role,
        content: encodeBlock(content, revision, exchange.profile),
      }));
      return answerResult(call, JSON.stringify({ description: prompt.description, messages }));
    },
    crash(error, words) {
      logCrash(call, "prompt", prompt.name, error);
      return answerError(call, rpcErrorCode.internalError, words ?? "Internal server error");
    },
    fail: (_code, message) => invalid(call, message),
  });
}

function unknownPrompt(call: Call, name: string): McpAnswer {
  const offered = call.runtime.prompts.all().filter(({ scopes }) => hasScopes(call.principal, scopes));
  return invalid(call, `Unknown prompt: ${name}${didYouMean(name, offered.map((each) => each.name))}`);
}

function invalid(call: Call, message: string): McpAnswer {
  return answerError(call, rpcErrorCode.invalidParams, message);
}

const maxValues = 100; // MCP schema, CompleteResult

/** Answers with the suggestions of the prompt or the family that is asked about. */
export async function complete(call: Call): Promise<McpAnswer> {
  const { prompts, resources } = call.runtime;
  const { params } = call.request;
  const { ref, argument, context } = isObject(params) ? params : {};
  if (!isObject(argument) || typeof argument["name"] !== "string" || typeof argument["value"] !== "string") {
    return invalid(call, "params.argument must have a name and a value");
  }
  const { name, value } = argument;
  const others = isObject(context) && isObject(context["arguments"])
    ? context["arguments"] as Record<string, string>
    : {};
  if (isObject(ref) && ref["type"] === "ref/prompt" && typeof ref["name"] === "string") {
    const prompt = prompts.get(ref["name"]);
    if (prompt === undefined) return unknownPrompt(call, ref["name"]);
    if (!hasScopes(call.principal, prompt.scopes)) return refuseScopes(call, prompt.scopes);
    return answerValues(call, await prompt.complete?.(name, value, others) ?? []);
  }
  if (isObject(ref) && ref["type"] === "ref/resource" && typeof ref["uri"] === "string") {
    const { uri } = ref;
    const family = resources.all().find(({ templates }) => templates.some((each) => each.uriTemplate === uri));
    if (family === undefined) {
      const known = resources.all().flatMap(({ templates }) => templates.map((each) => each.uriTemplate));
      return invalid(call, `Unknown resource template: ${uri}${didYouMean(uri, known)}`);
    }
    if (!hasScopes(call.principal, family.scopes)) return refuseScopes(call, family.scopes);
    return answerValues(call, await family.complete?.(uri, name, value, others, call.principal) ?? []);
  }
  return invalid(call, "params.ref must name a prompt or a resource template");
}

function answerValues(call: Call, values: readonly string[]): McpAnswer {
  const completion = { values: values.slice(0, maxValues), total: values.length, hasMore: values.length > maxValues };
  return answerResult(call, JSON.stringify({ completion }));
}
