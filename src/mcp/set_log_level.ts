/** `logging/setLevel` of the legacy era. */
import type { McpAnswer } from "./answer.ts";
import { answerError, answerResult, type Call } from "./call.ts";
import { refuseRate } from "./refusals.ts";
import { isObject } from "../lib/json.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import { isLoggingLevel, logLevels } from "./log_level.ts";
import type { Sessions } from "./session.ts";

/** Sets from which level on a session is sent log messages. Without a session none are sent, and nothing is stored. */
export async function setLogLevel({ sessions }: { readonly sessions: Sessions }, call: Call): Promise<McpAnswer> {
  const { session, request: { params } } = call;
  const level = isObject(params) ? params["level"] : undefined;
  if (!isLoggingLevel(level)) {
    return answerError(call, rpcErrorCode.invalidParams, `params.level must be one of: ${logLevels.join(", ")}`);
  }
  if (session === null) return answerResult(call, "{}");
  const refusal = await refuseRate(call); // a write counts like a call
  if (refusal !== null) return refusal;
  await sessions.setLogLevel(session, level);
  return answerResult(call, "{}");
}
