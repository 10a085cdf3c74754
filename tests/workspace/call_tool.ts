/** Calls a tool as the protocol layer does: parse the input, run, and check the result against the output schema. */
import assert from "node:assert/strict";
import type { Principal } from "../../src/lib/principal.ts";
import type { Tool, ToolOutcome } from "../../src/mcp/tool.ts";
import { quietCaller } from "../fixtures/quiet_context.ts";

/** A principal with all scopes for files. */
export function principalOf(subject: string): Principal {
  return {
    subject,
    clientId: "test",
    grantId: "grant",
    tokenId: "token",
    keyId: null,
    scopes: new Set(["files:read", "files:write"]),
    expiresAt: Number.MAX_SAFE_INTEGER,
  };
}

/** The outcome of one call; input that breaks the schema is a failure with the code `invalid_input`. */
export function callTool(
  tool: Tool,
  input: unknown,
  principal: Principal = principalOf("owner"),
): ToolOutcome | Promise<ToolOutcome> {
  const context = { principal, signal: new AbortController().signal, progress: () => {}, ...quietCaller };
  const parsed = tool.input.safeParse(input);
  if (!parsed.success) return { ok: false, code: "invalid_input", message: parsed.error.message };
  const outcome = tool.run(parsed.data as never, context);
  return outcome instanceof Promise ? outcome.then((later) => checked(tool, later)) : checked(tool, outcome);
}

/** Everything of an outcome that the caller sees, as one text. */
export function visibleText(outcome: ToolOutcome): string {
  if (!outcome.ok) return outcome.message;
  return outcome.content.map((block) => block.type === "text" ? block.text : JSON.stringify(block)).join("\n");
}

function checked(tool: Tool, outcome: ToolOutcome): ToolOutcome {
  if (outcome.ok && tool.output !== undefined) {
    const parsed = tool.output.safeParse(outcome.structuredContent);
    assert.ok(parsed.success, `${tool.name}: structuredContent breaks the output schema`);
    assert.deepEqual(parsed.data, outcome.structuredContent, `${tool.name}: structuredContent has undeclared members`);
  }
  return outcome;
}
