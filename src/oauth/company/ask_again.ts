/** Asks the provider again about a person who came by it, with their refresh token: whether they are still there, and their groups. */
import { failure, type Result, success } from "../../lib/result.ts";
import { type CompanyPerson, type IdentityFault, readPerson, verifyIdToken } from "./identity.ts";
import type { Provider, ProviderProblem } from "./provider.ts";
import type { CompanySettings } from "./settings.ts";

/** What the provider said. */
interface AskedAgain {
  /** `null` where it confirmed the person without saying anything about them. */
  readonly person: CompanyPerson | null;
  /** The refresh token from now on. */
  readonly refreshToken: string;
}

/** Error codes that are about this server as a client or the provider's state, and not about the person. */
const notAboutThePerson = new Set([
  ...["invalid_client", "unauthorized_client", "unsupported_grant_type", "unauthorized", "invalid_request"],
  ...["server_error", "temporarily_unavailable", "slow_down"],
]);

/** Whether the provider refused the person. Everything else is a fault of it or of this server, to be borne for a while. */
export function isAboutPerson(problem: IdentityFault | ProviderProblem): boolean {
  if (typeof problem === "string") return problem === "other_subject";
  return problem.reason === "refused" && !notAboutThePerson.has(problem.said ?? "");
}

/** Redeems the refresh token (OpenID Connect Core §12). */
export async function askAgain(
  options: { readonly provider: Provider; readonly company: CompanySettings },
  { subject, refreshToken }: { readonly subject: string; readonly refreshToken: string },
): Promise<Result<AskedAgain, { readonly problem: IdentityFault | ProviderProblem; readonly refreshToken: string }>> {
  const answer = await options.provider.requestToken({ grant_type: "refresh_token", refresh_token: refreshToken });
  if (!answer.ok) return failure({ problem: answer.error, refreshToken });
  const { id_token: idToken, access_token: accessToken = null, refresh_token: next = refreshToken } = answer.value;
  const refuse = (problem: IdentityFault | ProviderProblem) => failure({ problem, refreshToken: next });
  if (idToken === undefined) { // §12.2: it may be left out
    const info = accessToken === null ? success(null) : await options.provider.userInfo(accessToken);
    if (!info.ok) return refuse(info.error);
    if (info.value === null) return success({ person: null, refreshToken: next });
    if (info.value["sub"] !== subject) return refuse("other_subject");
    const person = await readPerson(options, info.value, null);
    return person.ok ? success({ person: person.value, refreshToken: next }) : refuse(person.error);
  }
  const verified = await verifyIdToken(options, idToken, { accessToken });
  if (!verified.ok) return refuse(verified.error);
  if (verified.value.subject !== subject) return refuse("other_subject"); // §12.2: the same person
  const person = await readPerson(options, verified.value.claims, accessToken);
  return person.ok ? success({ person: person.value, refreshToken: next }) : refuse(person.error);
}
