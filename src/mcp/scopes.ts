/** Whether a principal may, and the refusal when it may not. */
import type { Principal } from "../lib/principal.ts";
import type { McpAnswer } from "./answer.ts";
import type { Call } from "./calls/call.ts";
import { errorText, refusalCode, type RpcId } from "./messages/jsonrpc.ts";

/** Whether the principal has all of these scopes. */
export function hasScopes(principal: Principal, scopes: readonly string[]): boolean {
  for (const scope of scopes) if (!principal.scopes.has(scope)) return false;
  return true;
}

/** Refuses a call whose token lacks some of the scopes that it needs. */
export function refuseScopes(call: Call, needed: readonly string[]): McpAnswer {
  call.outcome = "insufficient_scope";
  call.code = "insufficient_scope";
  const granted = call.revision.challengesWithGranted ? call.exchange.principal?.scopes : undefined;
  return insufficientScope(call.request.id, needed, granted);
}

/** The refusal of a call, or of a whole batch; its challenge names the scopes that are needed, and those granted. */
export function insufficientScope(
  id: RpcId | null,
  needed: readonly string[],
  granted: Iterable<string> = [],
): McpAnswer {
  const message = `This call needs the scopes: ${needed.join(" ")}`;
  const scopes = [...new Set([...granted, ...needed])];
  return { kind: "insufficient_scope", scopes, body: errorText(id, refusalCode.insufficientScope, message) };
}
