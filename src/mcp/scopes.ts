/** Whether a principal may, and the refusal when it may not. */
import type { Principal } from "../lib/principal.ts";
import type { McpAnswer } from "./answer.ts";
import type { Call } from "./call.ts";
import { errorText, refusalCode, type RpcId } from "./jsonrpc.ts";

/** Whether the principal has all of these scopes. */
export function hasScopes(principal: Principal, scopes: readonly string[]): boolean {
  for (const scope of scopes) if (!principal.scopes.has(scope)) return false;
  return true;
}

/** Refuses a call whose token lacks scopes. */
export function refuseScopes(call: Call, scopes: readonly string[]): McpAnswer {
  call.outcome = "insufficient_scope";
  call.code = "insufficient_scope";
  return insufficientScope(call.request.id, scopes);
}

/** The refusal of a call, or of a whole batch, whose token lacks scopes. */
export function insufficientScope(id: RpcId | null, scopes: readonly string[]): McpAnswer {
  const message = `This call needs the scopes: ${scopes.join(" ")}`;
  return { kind: "insufficient_scope", scopes, body: errorText(id, refusalCode.insufficientScope, message) };
}
