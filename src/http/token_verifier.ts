/** The port to the issuer of the tokens, as the resource server sees it. */
import type { Principal } from "../lib/principal.ts";
import type { Result } from "../lib/result.ts";

/** Verifies bearer tokens and says when an earlier verification has to be looked at again. */
export interface TokenVerifier {
  /** The principal that a token speaks for, or a stable name for what is wrong with it. */
  verify(token: string): Promise<Result<Principal, string>>;
  /** Whether the principal's token is still not revoked. */
  isLive(principal: Principal): Promise<boolean>;
  /** Of a principal that is not live: a stable name for the reason. */
  whyEnded(principal: Principal): Promise<string>;
  /** Differs from an earlier one whenever anything that {@link TokenVerifier.isLive} depends on may have changed. */
  changeCount(): number | Promise<number>;
}
