/** `logging/setLevel` of the legacy era. */
import type { McpAnswer } from "./answer.ts";
import { answerError, answerResult, type Call } from "./call.ts";
import { isObject } from "../lib/is_object.ts";
import { errorCode } from "./jsonrpc.ts";
import { isLogLevel, logLevels } from "./log_level.ts";
import type { Sessions } from "./session.ts";

/** Sets from which level on a session hears log messages. Without a session there is none to send, and none to keep. */
export async function setLogLevel(sessions: Sessions, call: Call): Promise<McpAnswer> {
  const { params } = call.request;
  const level = isObject(params) ? params["level"] : undefined;
  if (!isLogLevel(level)) {
    return answerError(call, errorCode.invalidParams, `params.level must be one of: ${logLevels.join(", ")}`);
  }
  if (call.session !== null) await sessions.setLogLevel(call.session, level);
  return answerResult(call, "{}");
}
