/** The span of a request, by OpenTelemetry's conventions for MCP, and the one of the tool that it runs. */
import type { Span, TraceContext, Tracer } from "../lib/tracer.ts";
import type { PublicCall } from "./call.ts";
import { CallInterrupted } from "./call_context.ts";
import type { ToolOutcome } from "./tool.ts";

const maxIdCharacters = 100;

/** Begins the span of a request; `null` where nothing is exported and the caller sent no trace. */
export function beginRequestSpan(
  tracer: Tracer,
  { request, exchange, revision }: PublicCall,
  { parent, isKnownMethod }: { readonly parent: TraceContext | undefined; readonly isKnownMethod: boolean },
): Span | null {
  if (!tracer.exports && parent === undefined) return null;
  const method = isKnownMethod ? request.method : "_OTHER"; // what a caller makes up names no span
  return tracer.begin({
    name: method,
    kind: "server",
    attributes: {
      "mcp.method.name": method,
      "mcp.protocol.version": revision.version,
      "jsonrpc.request.id": String(request.id).slice(0, maxIdCharacters),
      "network.transport": exchange.hasHeaders ? "tcp" : "pipe",
      "portcullis.request.id": exchange.requestId,
    },
    ...(parent === undefined ? {} : { parent }),
  });
}

export function endRequestSpan(span: Span, { tool, outcome, code }: PublicCall): void {
  if (tool !== null) {
    span.rename(`tools/call ${tool}`);
    span.set({ "gen_ai.tool.name": tool, "gen_ai.operation.name": "execute_tool" });
  }
  if (outcome === "protocol_error" && code !== null) {
    span.set({ "rpc.response.status_code": code });
    span.fail(code);
  } else if (outcome !== "ok") span.fail(outcome);
  span.end();
}

/** Runs a tool in a span of its own, which lasts as long as the tool works, also when that is a task by then. */
export function runToolInSpan(
  tracer: Tracer,
  name: string,
  run: () => ToolOutcome | Promise<ToolOutcome>,
): ToolOutcome | Promise<ToolOutcome> {
  if (!tracer.exports) return run();
  const span = tracer.begin({
    name: `execute_tool ${name}`,
    kind: "internal",
    attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name },
  });
  return span === null ? run() : endWithSpan(span, run);
}

async function endWithSpan(span: Span, run: () => ToolOutcome | Promise<ToolOutcome>): Promise<ToolOutcome> {
  try {
    const outcome = await span.run(run);
    if (!outcome.ok) span.fail(outcome.code);
    return outcome;
  } catch (error) {
    if (!(error instanceof CallInterrupted)) span.fail("internal_error");
    throw error;
  } finally {
    span.end();
  }
}
