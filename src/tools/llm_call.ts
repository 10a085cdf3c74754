/** A tool's context as a call of the local model. */
import type { ToolContext } from "../mcp/tool.ts";
import type { PrincipalCall } from "../ollama/port.ts";

/** Turns go round the people, then round the clients of each: two agents of one person do not starve each other. */
export function callOf({ principal, signal }: ToolContext, timeoutMilliseconds: number | undefined): PrincipalCall {
  return {
    signal,
    person: principal.subject,
    fairnessKey: JSON.stringify([principal.subject, principal.clientId]),
    ...(timeoutMilliseconds === undefined ? {} : { totalMilliseconds: timeoutMilliseconds }),
  };
}
