/** `POST /oauth/backchannel-logout` (OpenID Connect Back-Channel Logout 1.0 §2.5): the provider says who signed out there. */
import { type LogoutToken, verifyLogoutToken } from "./company/logout_token.ts";
import { endPerson, providerSessionId, providerSessions, type RecheckOptions } from "./company_recheck.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { useOnce } from "./provider_token.ts";
import { userIdOf } from "./company_people.ts";
import { users } from "./records.ts";
import { jsonResponse, logStep, refuseLogged, refuseStep, wrongMethod } from "./refusal.ts";
import { readForm } from "./request_body.ts";

/** Ends what acts for the person whom a logout token names. */
export function createBackchannelLogout(options: RecheckOptions): Endpoint {
  const { storage, company, log, limits } = options;
  const event = "backchannel_logout";
  return async (request, peer) => {
    if (request.method !== "POST") return wrongMethod("POST");
    const to = { log, peer };
    const form = await readForm(request, limits);
    if (!form.ok) return refuseStep(to, event, form.error);
    const token = form.value.get("logout_token") ?? "";
    const verified = await verifyLogoutToken(await options.loadProvider(), token, company.clientId);
    if (!verified.ok) {
      const fault = typeof verified.error === "string" ? verified.error : verified.error.reason;
      // §2.8: 400 too where the logout fails for another reason than the token
      return refuseLogged(log, event, "invalid_logout_token", { fault, address: peer.address });
    }
    const { check, put } = useOnce({ issuer: company.issuer, kind: "logout" }, verified.value);
    if (!await storage.commit({ checks: [check], puts: [put] })) return refuseStep(to, event, "replayed_logout_token");
    const userId = await personOf(options, verified.value);
    if (userId !== null) {
      try {
        await endPerson(options, userId, "signed_out_there");
      } catch (error) { // the provider may say it again
        await storage.commit({ deletes: [put.key] });
        throw error;
      }
    }
    logStep(to, event, { outcome: userId === null ? "unknown_person" : "ended", user: userId ?? undefined });
    return jsonResponse({});
  };
}

/** §2.6: by the subject, or by the session at the provider; `null` for one that is over here, which is no fault (§2.8). */
async function personOf(options: RecheckOptions, { subject, session }: LogoutToken): Promise<string | null> {
  if (subject !== null) {
    const userId = await userIdOf(options, subject);
    return await users.read(options.storage, userId) === null ? null : userId;
  }
  const id = providerSessionId(options.company.issuer, session ?? "");
  return (await providerSessions.read(options.storage, id))?.value.userId ?? null;
}
