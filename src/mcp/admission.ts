/** Rate limits of calls that do something. */
import type { Admission } from "../lib/admission.ts";
import type { Principal } from "../lib/principal.ts";
import type { McpAnswer } from "../mcp/answer.ts";
import type { Call } from "../mcp/calls/call.ts";
import { errorText, refusalCode, type RpcId } from "../mcp/messages/jsonrpc.ts";

/** Asked once per call, after the scopes and before the call's input is looked at. */
export type Admit = (principal: Principal) => Admission | Promise<Admission>;

/** Goes on with a call that is admitted, and refuses one that comes too soon. */
export function whenAdmitted(
  call: Call,
  admission: Admission | Promise<Admission>,
  goOn: () => McpAnswer | Promise<McpAnswer>,
): McpAnswer | Promise<McpAnswer> {
  if (admission instanceof Promise) return admission.then((settled) => whenAdmitted(call, settled, goOn));
  return admission.ok ? goOn() : refuseRate(call, admission.retryAfterSeconds);
}

/** The refusal of what comes too soon; `id` is that of the request, if it was one. */
export function tooManyCalls(id: RpcId | null, retryAfterSeconds: number): McpAnswer {
  const message = `Too many calls. Try again in ${retryAfterSeconds} s`;
  const body = errorText(id, refusalCode.rateLimited, message, { retryAfterSeconds });
  return { kind: "rate_limited", retryAfterSeconds, body };
}

function refuseRate(call: Call, retryAfterSeconds: number): McpAnswer {
  call.outcome = "rate_limited";
  call.code = "rate_limited";
  return tooManyCalls(call.request.id, retryAfterSeconds);
}
