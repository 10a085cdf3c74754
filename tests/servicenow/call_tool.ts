/** Calls a tool as the protocol layer does: parse the input, run, check the result against the output schema. */
import assert from "node:assert/strict";
import type { Principal } from "../../src/lib/principal.ts";
import type { Tool, ToolContext, ToolOutcome } from "../../src/mcp/tool.ts";

/** Somebody with every scope that the ServiceNow parts ask for, or with others. */
export function principalOf(
  subject: string,
  scopes: readonly string[] = ["servicenow:read", "servicenow:write"],
): Principal {
  return {
    subject,
    clientId: "test",
    grantId: "grant",
    tokenId: "token",
    keyId: null,
    scopes: new Set(scopes),
    expiresAt: Number.MAX_SAFE_INTEGER,
  };
}

/** The outcome of one call; input that breaks the schema is a failure with the code `invalid_input`. */
export async function callTool(tool: Tool | undefined, input: unknown, subject: string): Promise<ToolOutcome> {
  assert.ok(tool !== undefined, "the tool is offered");
  const parsed = tool.input.safeParse(input);
  if (!parsed.success) return { ok: false, code: "invalid_input", message: parsed.error.message };
  // ServiceNow tools use nothing else of a context.
  const context: Pick<ToolContext, "principal" | "signal"> = {
    principal: principalOf(subject),
    signal: new AbortController().signal,
  };
  const outcome = await tool.run(parsed.data as never, context as ToolContext);
  if (outcome.ok) {
    const structured = tool.output?.safeParse(outcome.structuredContent);
    assert.ok(structured?.success, `${tool.name}: structuredContent breaks the output schema`);
    assert.deepEqual(structured.data, outcome.structuredContent, `${tool.name}: undeclared members`);
  }
  return outcome;
}
