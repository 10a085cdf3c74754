/** A tool's context as a call of the local model. */
import type { ToolContext } from "../mcp/tool.ts";
import type { PrincipalCall } from "../ollama/port.ts";

/** Callers take turns as user and client together: two agents of one person do not starve each other either. */
export function callOf({ principal, signal }: ToolContext, timeoutMilliseconds: number | undefined): PrincipalCall {
  return {
    signal,
    fairnessKey: JSON.stringify([principal.subject, principal.clientId]),
    ...(timeoutMilliseconds === undefined ? {} : { totalMilliseconds: timeoutMilliseconds }),
  };
}
