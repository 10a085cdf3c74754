/** What `doctor` asks the company's identity provider: discovery, keys, its clock, the redirect address; and the mapping of groups. */
import type { Check } from "../lib/result.ts";
import { judgeRedirect } from "./doctor_address.ts";
import { checksOf } from "./doctor_places.ts";
import { type CompanySettings, loadProvider } from "../oauth/mod.ts";
import { type Clock, systemTimers } from "../lib/time.ts";

/** Further apart, and the provider's tokens are expired, or not yet good. */
const maxClockDifferenceSeconds = 30;

interface CompanyOptions {
  readonly serverUrl: string;
  readonly clock: Clock;
  readonly fetch?: typeof globalThis.fetch;
}

export async function* examineCompany(
  { company, ownerPassphrase }: { readonly company: CompanySettings | null; readonly ownerPassphrase: boolean },
  { serverUrl, clock, fetch = globalThis.fetch }: CompanyOptions,
): AsyncGenerator<Check> {
  if (company === null) return;
  yield* examineMapping(company, ownerPassphrase);
  const { createProvider } = await loadProvider();
  let providerTime: number | null = null;
  const provider = createProvider({
    company,
    clock,
    timers: systemTimers,
    async fetch(url, init) {
      const response = await fetch(url, init);
      providerTime = Date.parse(response.headers.get("date") ?? "") || null;
      return response;
    },
  });
  const discovery = checksOf("identity provider");
  const metadata = await provider.metadata({ fresh: true });
  if (!metadata.ok) {
    const { reason, said } = metadata.error;
    return yield discovery.warning(
      problemWords[reason] ?? `its discovery cannot be used (${reason})`,
      reason === "other_issuer"
        ? `OIDC_ISSUER has to be what the provider calls itself: ${said}`
        : "open OIDC_ISSUER with /.well-known/openid-configuration from this machine (DNS, firewall, proxy)",
    );
  }
  yield discovery.well(`${company.issuer} answers`);
  yield clockCheck(providerTime, clock());
  const keys = await provider.keys({ fresh: true });
  const { well, warning } = checksOf("identity provider's keys");
  if (!keys.ok) {
    const words = problemWords[keys.error.reason] ?? `cannot be used (${keys.error.reason})`;
    yield warning(words, `open ${metadata.value.jwks_uri} from this machine`);
  } else {
    yield keys.value.length === 0
      ? warning("the provider publishes no key", "ask its administrator")
      : well(`${keys.value.length} published`);
  }
  const redirectUri = `${serverUrl}/oauth/callback`;
  const made = { state: "doctor", nonce: "doctor", codeChallenge: "doctor-".repeat(6) + "d", redirectUri, ask: null };
  const url = await provider.authorizationUrl(made);
  if (url.ok) {
    yield await judgeRedirect(url.value, {
      name: "identity provider's redirect address",
      party: "provider",
      redirectUri,
      fetch,
      remedy:
        "at the provider, the application needs that redirect address; OIDC_CLIENT_ID is its id, and SERVER_URL " +
        "the address that people use",
    });
  }
  const leaving = checksOf("people who leave");
  yield metadata.value.backchannel_logout_supported
    ? leaving.well(`the provider can announce sign-outs: give it ${serverUrl}/oauth/backchannel-logout`)
    : leaving.note("the provider announces no sign-outs: people who leave are out after OIDC_RECHECK");
}

/** By the `Date` of an answer (RFC 9110 §6.6.1). */
function clockCheck(providerTime: number | null, now: number): Check {
  const { well, warning, note } = checksOf("identity provider's clock");
  if (providerTime === null) return note("not known: the provider's answers have no date");
  const apart = Math.round(Math.abs(providerTime - now) / 1_000);
  return apart <= maxClockDifferenceSeconds
    ? well("agrees with this machine's")
    : warning(`differs by ${apart} s from this machine's`, "set this machine's clock; a minute apart, sign-ins fail");
}

const problemWords: Readonly<Record<string, string>> = {
  unreachable: "does not answer",
  timed_out: "does not answer in time",
  server_error: "answers with an error of its own",
  unexpected_status: "answers with a redirect, or with a status that means nothing here",
  not_json: "answers with something else than JSON",
  too_large: "answers with more than a megabyte",
  malformed_answer: "answers with JSON that lacks what is needed",
  other_issuer: "calls itself by another name than OIDC_ISSUER",
};

/** Rules that let no one in, or let in people who may then do nothing. */
function* examineMapping({ allow, groups }: CompanySettings, ownerPassphrase: boolean): Generator<Check> {
  const { well, warning, note } = checksOf("people of the identity provider");
  if (allow.length === 0) {
    const who = "OIDC_ALLOW is not set: people can sign in who linked an account, and no others";
    return yield ownerPassphrase ? note(who) : warning(
      `${who}, while OWNER_PASSPHRASE is off`,
      "set OIDC_ALLOW, or OWNER_PASSPHRASE=on until the owner has linked an account",
    );
  }
  const rightless = allow.flatMap((rule) =>
    rule.kind === "group" && groups?.has(rule.name) === false ? [rule.name] : []
  );
  if (rightless.length > 0) {
    yield warning(
      `OIDC_ALLOW admits the ${rightless.length === 1 ? "group" : "groups"} ${
        rightless.map((name) => JSON.stringify(name)).join(", ")
      }, to which OIDC_GROUPS gives nothing`,
      "name them in OIDC_GROUPS too",
    );
    return;
  }
  const isAdministered = [...groups?.values() ?? []].some(({ administrator }) => administrator);
  yield isAdministered
    ? well("OIDC_ALLOW and OIDC_GROUPS fit each other")
    : note("no group makes administrators: those named here are");
}
