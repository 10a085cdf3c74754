/** Logout tokens (OpenID Connect Back-Channel Logout 1.0): the provider says that a person signed out there. */
import { isText } from "./claims.ts";
import { isObject } from "../../lib/json.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import type { Provider, ProviderProblem, TokenFault } from "./provider.ts";

/** Whom a logout token is about: a person, a session of theirs at the provider, or both. */
export interface LogoutToken {
  readonly subject: string | null;
  readonly session: string | null;
  readonly tokenId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Why a logout token is refused. */
type LogoutFault = TokenFault | "missing_claim" | "wrong_audience" | "no_logout_event" | "nonce_in_logout_token";

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";
const maxIdCharacters = 255;

/** Verifies a logout token for this client of the provider. It is still to be used up. */
export async function verifyLogoutToken(
  provider: Pick<Provider, "verify">,
  token: string,
  clientId: string,
): Promise<Result<LogoutToken, LogoutFault | ProviderProblem>> {
  const verified = await provider.verify(token, ["logout+jwt", "jwt", null]); // §2.4: the type is recommended only
  if (!verified.ok) return verified;
  const { aud, sub, sid, jti, iat, exp, events, nonce } = verified.value.claims;
  if (nonce !== undefined) return failure("nonce_in_logout_token"); // §2.4: so that no ID token passes for one
  if (!(Array.isArray(aud) ? aud : [aud]).includes(clientId)) return failure("wrong_audience");
  if (!isObject(events) || !isObject(events[logoutEvent])) return failure("no_logout_event");
  const areTexts = [sub, sid].every((value) => value === undefined || isText(value, maxIdCharacters));
  const isAboutSomeone = sub !== undefined || sid !== undefined;
  if (!areTexts || !isAboutSomeone || !isText(jti, maxIdCharacters)) return failure("missing_claim");
  if (typeof iat !== "number" || typeof exp !== "number") return failure("missing_claim");
  return success({
    subject: typeof sub === "string" ? sub : null,
    session: typeof sid === "string" ? sid : null,
    tokenId: jti,
    expiresAt: exp * 1_000,
  });
}
