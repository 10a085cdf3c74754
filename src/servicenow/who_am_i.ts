/** Whose access token this is, by the instance's own word. */
import * as z from "zod";
import type { Clock } from "../lib/clock.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { InstanceAccount } from "./link_record.ts";
import { checkStatus, parseResult } from "./reply.ts";
import type { Transport, UpstreamRequest } from "./transport.ts";

const sysId = z.string().regex(/^[0-9a-f]{32}$/);
const currentUser = z.object({
  user_sys_id: sysId,
  user_name: z.string(),
  user_display_name: z.string().nullish(),
});
const userRecords = z.array(z.object({ sys_id: sysId, user_name: z.string(), name: z.string().nullish() })).min(1);

const maxReplyBytes = 65_536;
const currentUserRequest: UpstreamRequest = {
  method: "GET",
  path: "/api/now/ui/user/current_user",
  accept: "json",
  maxBytes: maxReplyBytes,
};
const ownRecordRequest: UpstreamRequest = {
  method: "GET",
  path: "/api/now/table/sys_user",
  query: {
    sysparm_query: "sys_id=javascript:gs.getUserID()",
    sysparm_fields: "sys_id,user_name,name",
    sysparm_limit: "1",
  },
  accept: "json",
  maxBytes: maxReplyBytes,
};

/** Asks for the current user, and where an instance does not offer that, for the user's own record. */
export async function askWhoAmI(
  { transport, clock }: { readonly transport: Transport; readonly clock: Clock },
  accessToken: string,
  signal: AbortSignal,
): Promise<Result<InstanceAccount, ServicenowFailure>> {
  const ask = async <Schema extends z.ZodType>(
    request: UpstreamRequest,
    schema: Schema,
  ): Promise<Result<z.output<Schema>, ServicenowFailure>> => {
    const answer = await transport(request, { accessToken, signal });
    if (!answer.ok) return answer;
    const checked = checkStatus(answer.value, request, clock);
    if (checked.ok) return parseResult(checked.value, schema);
    return failure(checked.error.reason === "unauthorized" ? { reason: "link_expired" } : checked.error);
  };
  const current = await ask(currentUserRequest, currentUser);
  if (current.ok) {
    const { user_sys_id, user_name, user_display_name } = current.value;
    return success({ sysId: user_sys_id, userName: user_name, name: user_display_name ?? user_name });
  }
  if (current.error.reason === "cancelled" || current.error.reason === "link_expired") return current;
  const own = await ask(ownRecordRequest, userRecords);
  if (!own.ok) return own;
  const [user] = own.value;
  return user === undefined
    ? failure({ reason: "not_found" })
    : success({ sysId: user.sys_id, userName: user.user_name, name: user.name ?? user.user_name });
}
