/** Users' links to their accounts at the instance, and access tokens for the calls made in their name. */
import * as z from "zod";
import { failure, type Result, success } from "../lib/result.ts";
import type { InstanceSignIn } from "../oauth/mod.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { InstanceAccount, LinkSecrets } from "./link_store.ts";
import { createRefreshLink, isGoodUntil, refreshLockKey, type RefreshOptions, toLinkSecrets } from "./refresh_link.ts";
import type { InstanceTokens } from "./token_endpoint.ts";
import type { Clock } from "../lib/time.ts";
import { checkStatus, parseResult, type Transport, type UpstreamRequest } from "./transport.ts";

/** An access token and whose it is. Lives as long as one call. */
export interface LinkedAccess {
  readonly accessToken: string;
  readonly account: InstanceAccount;
}

/** `subject` is the `sub` of a user's tokens here. */
export interface ServicenowLinks {
  /** Links a user to an account, in place of what was linked before. */
  save(subject: string, tokens: InstanceTokens, account: InstanceAccount): Promise<void>;
  readonly status: InstanceSignIn["status"];
  readonly health: InstanceSignIn["health"];
  /** A token to use now; never the one that the instance has just refused. */
  access(
    subject: string,
    options: { readonly signal: AbortSignal; readonly refused?: string },
  ): Promise<Result<LinkedAccess, ServicenowFailure>>;
  /** Deletes the link and revokes its tokens at the instance; whether there was one. */
  unlink(subject: string): Promise<boolean>;
}

export function createServicenowLinks(options: RefreshOptions): ServicenowLinks {
  const { store, storage, tokenEndpoint, clock } = options;
  const refreshLink = createRefreshLink(options);
  const running = new Map<string, ReturnType<typeof refreshLink>>();

  /** All callers of this process share one refresh. It goes on when a caller gives up: the others still wait. */
  const sharedRefresh = (subject: string, refused: string | undefined): ReturnType<typeof refreshLink> => {
    const key = JSON.stringify([subject, refused ?? null]);
    const present = running.get(key);
    if (present !== undefined) return present;
    const started = refreshLink(subject, refused).finally(() => running.delete(key));
    running.set(key, started);
    return started;
  };

  return {
    async save(subject, tokens, account) {
      const link = toLinkSecrets(tokens, account, { clock });
      const at = clock();
      await storage.commit({
        puts: [await store.put(subject, link, { linkedAt: at, at })],
        deletes: [refreshLockKey(subject)],
      });
    },
    health: store.health,
    async status(subject) {
      const current = await store.read(subject);
      if (current.ok) return { state: "linked", account: current.value.link.account };
      return { state: current.error.reason === "link_expired" ? "expired" : "none" };
    },
    async access(subject, { signal, refused }) {
      const current = await store.read(subject);
      if (!current.ok) return current;
      const { link } = current.value;
      if (isGoodUntil(link.refreshAt, link, { refused, clock })) return success(toAccess(link));
      const renewed = await untilAborted(sharedRefresh(subject, refused), signal);
      if (renewed.ok) return success(toAccess(renewed.value));
      const mayUseOld = renewed.error.reason === "unavailable" && isGoodUntil(link.expiresAt, link, { refused, clock });
      return mayUseOld ? success(toAccess(link)) : renewed;
    },
    async unlink(subject) {
      const taken = await store.take(subject);
      if (taken.ok) await tokenEndpoint.revoke(taken.value.link);
      return taken.ok || taken.error.reason === "link_expired";
    },
  };
}

function toAccess({ accessToken, account }: LinkSecrets): LinkedAccess {
  return { accessToken, account };
}

/** Stops waiting when the caller is gone. */
function untilAborted<T>(
  work: Promise<Result<T, ServicenowFailure>>,
  signal: AbortSignal,
): Promise<Result<T, ServicenowFailure>> {
  const { promise: aborted, resolve } = Promise.withResolvers<Result<T, ServicenowFailure>>();
  const stop = (): void => resolve(failure({ reason: "cancelled" }));
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener("abort", stop));
}

// Whose access token this is, by the instance's own word.

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
