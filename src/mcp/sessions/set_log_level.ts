/** `logging/setLevel` of the legacy era. */
import type { Principal } from "../../lib/principal.ts";
import { type Admit, whenAdmitted } from "../../mcp/admission.ts";
import type { McpAnswer } from "../answer.ts";
import { answerError, answerResult, type Call } from "../calls/call.ts";
import { isObject } from "../../lib/is_object.ts";
import { errorCode } from "../messages/jsonrpc.ts";
import { isLogLevel, logLevels } from "../log_level.ts";
import type { Sessions } from "./session.ts";

/** Sets from which level on a session hears log messages. Without a session there is none to send, and none to keep. */
export async function setLogLevel(
  { sessions, admit }: { readonly sessions: Sessions; readonly admit: Admit },
  call: Call,
  principal: Principal,
): Promise<McpAnswer> {
  const { params } = call.request;
  const level = isObject(params) ? params["level"] : undefined;
  if (!isLogLevel(level)) {
    return answerError(call, errorCode.invalidParams, `params.level must be one of: ${logLevels.join(", ")}`);
  }
  const { session } = call;
  if (session === null) return answerResult(call, "{}");
  return await whenAdmitted(call, admit(principal), async () => { // a write counts like a call
    await sessions.setLogLevel(session, level);
    return answerResult(call, "{}");
  });
}
