/** Checks every message that the server sends: by the official SDK's schemas, and by what 2026-07-28 adds to them. */
import assert from "node:assert/strict";
import {
  CallToolResultSchema,
  CompleteResultSchema,
  EmptyResultSchema,
  GetPromptResultSchema,
  InitializeResultSchema,
  JSONRPCMessageSchema,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
  ReadResourceResultSchema,
  ServerNotificationSchema,
  ServerRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

/** What a message answers. */
export interface WireContext {
  /** The method of the request; nothing for a stream of no request. */
  readonly method?: string | undefined;
  readonly isModern: boolean;
}

interface Schema {
  safeParse(value: unknown): { readonly success: boolean; readonly error?: unknown };
}

const results: Readonly<Record<string, Schema>> = {
  "initialize": InitializeResultSchema,
  "ping": EmptyResultSchema,
  "logging/setLevel": EmptyResultSchema,
  "resources/subscribe": EmptyResultSchema,
  "resources/unsubscribe": EmptyResultSchema,
  "tools/list": ListToolsResultSchema,
  "tools/call": CallToolResultSchema,
  "prompts/list": ListPromptsResultSchema,
  "prompts/get": GetPromptResultSchema,
  "resources/list": ListResourcesResultSchema,
  "resources/templates/list": ListResourceTemplatesResultSchema,
  "resources/read": ReadResourceResultSchema,
  "completion/complete": CompleteResultSchema,
};

const task = z.object({
  taskId: z.string(),
  status: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
  statusMessage: z.string().optional(),
  createdAt: z.iso.datetime(),
  lastUpdatedAt: z.iso.datetime(),
  ttlMs: z.int().nullable(),
  pollIntervalMs: z.int().optional(),
});

const modernResults: Readonly<Record<string, Schema>> = {
  "server/discover": z.object({ supportedVersions: z.array(z.string()).min(1), capabilities: z.looseObject({}) }),
  "tasks/get": task,
  "tasks/update": z.strictObject({ resultType: z.literal("complete"), _meta: z.looseObject({}) }),
  "tasks/cancel": z.strictObject({ resultType: z.literal("complete"), _meta: z.looseObject({}) }),
  "subscriptions/listen": z.object({
    _meta: z.looseObject({ "io.modelcontextprotocol/subscriptionId": z.union([z.string(), z.number()]) }),
  }),
};

const cacheable = new Set([
  "server/discover",
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
]);
const cacheHint = z.object({ ttlMs: z.int().min(0), cacheScope: z.enum(["public", "private"]) });
const inputRequired = z.object({
  inputRequests: z.record(z.string(), z.object({ method: z.string() })).optional(),
  requestState: z.string().optional(),
});

/** Fails when a message is not what its revision says. An error without an id to echo has `null`, as JSON-RPC 2.0 §5 asks. */
export function checkMessage(message: Record<string, unknown>, context: WireContext): void {
  const { id, ...withoutId } = message;
  fits(JSONRPCMessageSchema, id === null && "error" in message ? withoutId : message, message);
  if ("method" in message) {
    const isSubscription = context.isModern &&
      /^notifications\/(tasks$|subscriptions\/)/.test(String(message["method"]));
    if (!isSubscription) fits("id" in message ? ServerRequestSchema : ServerNotificationSchema, message, message);
    if (context.isModern) assert.ok(!("id" in message), "the modern era has no requests of the server's");
    return;
  }
  const result = message["result"] as Record<string, unknown> | undefined;
  if (result === undefined || context.method === undefined) return;
  if (!context.isModern) {
    assert.ok(!("resultType" in result) && !("ttlMs" in result), JSON.stringify(message));
    return fits(results[context.method] ?? assert.fail(context.method), result, message);
  }
  switch (result["resultType"]) {
    case "complete":
      if (cacheable.has(context.method)) fits(cacheHint, result, message);
      return fits(
        modernResults[context.method] ?? results[context.method] ?? assert.fail(context.method),
        result,
        message,
      );
    case "input_required":
      assert.ok(["tools/call", "prompts/get", "resources/read"].includes(context.method));
      assert.ok("inputRequests" in result || "requestState" in result);
      return fits(inputRequired, result, message);
    case "task":
      assert.equal(context.method, "tools/call");
      return fits(task, result, message);
    default:
      assert.fail(`resultType ${result["resultType"]}`);
  }
}

/** Checks a whole JSON body against the body that it answers. */
export function checkBody(request: unknown, isModern: boolean, body: unknown): void {
  if (!Array.isArray(body)) {
    const method = (request as { readonly method?: string } | null)?.method;
    return checkMessage(body as Record<string, unknown>, { method, isModern });
  }
  const methods = new Map((request as { id?: unknown; method?: string }[]).map((each) => [each.id, each.method]));
  for (const each of body) checkMessage(each, { method: methods.get(each.id), isModern });
}

function fits(schema: Schema, value: unknown, message: unknown): void {
  const parsed = schema.safeParse(value);
  assert.ok(parsed.success, `${JSON.stringify(message)}\n${parsed.error}`);
}
