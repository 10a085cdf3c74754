/** How people sign in, and how long what they grant lives. */
import { parseChoice, parseInteger, parsePasswordHash } from "../parsers.ts";
import { day, optional, required, year } from "../setting.ts";

/** Settings under the heading Sign-in and tokens. */
export const signInSettings = {
  signIn: required({
    env: "SIGN_IN",
    default: "local",
    parse: parseChoice(["local", "servicenow"]),
    help: "whether people sign in here, with a passphrase, or at the ServiceNow instance",
  }),
  ownerPasswordHash: optional({
    env: "OWNER_PASSWORD_HASH",
    parse: parsePasswordHash,
    secret: true,
    help: "the owner's passphrase, hashed by `hash-password`, for unattended starts",
  }),
  accessTokenLifetimeSeconds: required({
    env: "ACCESS_TOKEN_LIFETIME",
    default: "3600",
    parse: parseInteger(1, day),
    help: "life of an access token in seconds",
  }),
  signingKeyLeadSeconds: required({
    env: "SIGNING_KEY_LEAD",
    default: "900",
    parse: parseInteger(300, 30 * day), // the JWK set may be kept for 300 seconds
    help: "seconds for which a new signing key is published before it signs, so that whoever verifies tokens knows it",
  }),
  refreshTokenLifetimeSeconds: required({
    env: "REFRESH_TOKEN_LIFETIME",
    default: String(30 * day),
    parse: parseInteger(1, year),
    help: "life of a chain of refresh tokens in seconds",
  }),
  authorizationCodeLifetimeSeconds: required({
    env: "AUTHORIZATION_CODE_LIFETIME",
    default: "300", // people paste codes by hand where the browser runs on another machine
    parse: parseInteger(1, 600), // RFC 6749 §4.1.2: at most ten minutes
    help: "life of an authorization code in seconds",
  }),
  refreshGraceSeconds: required({
    env: "REFRESH_GRACE",
    default: "120", // hosted clients refresh from several machines, up to 90 s apart
    parse: parseInteger(0, 300),
    help: "seconds in which the previous refresh token still gives the same successor",
  }),
  refreshIdleLifetimeSeconds: required({
    env: "REFRESH_IDLE_LIFETIME",
    default: String(14 * day),
    parse: parseInteger(1, year),
    help: "seconds after its last use in which a chain of refresh tokens ends",
  }),
  authorizationRequestLifetimeSeconds: required({
    env: "AUTHORIZATION_REQUEST_LIFETIME",
    default: "600",
    parse: parseInteger(30, day),
    help: "seconds that a person may take from the first page to the decision",
  }),
  signInSessionLifetimeSeconds: required({
    env: "SIGN_IN_LIFETIME",
    default: "28800",
    parse: parseInteger(60, year),
    help: "seconds that a person stays signed in on the pages",
  }),
  knownBrowserLifetimeSeconds: required({
    env: "KNOWN_BROWSER_LIFETIME",
    default: String(90 * day),
    parse: parseInteger(60, 10 * year),
    help: "seconds for which a browser in which somebody signed in is not slowed down by the guesses of others",
  }),
  setUpLinkLifetimeSeconds: required({
    env: "SET_UP_LINK_LIFETIME",
    default: "600",
    parse: parseInteger(30, day),
    help: "life of the link that makes the first person the owner, in seconds",
  }),
  maxConcurrentPasswordHashes: required({
    env: "PASSWORD_MAX_CONCURRENT",
    default: "2",
    parse: parseInteger(1, 1_000),
    help: "passphrases that are checked at once; each takes 46 MiB, or 128 MiB where there is no Argon2id",
  }),
  maxWaitingPasswordHashes: required({
    env: "PASSWORD_MAX_WAITING",
    default: "16",
    parse: parseInteger(0, 10_000),
    help: "passphrases that wait to be checked; more are refused",
  }),
  maxCachedTokens: required({
    env: "MAX_CACHED_TOKENS",
    default: "10000",
    parse: parseInteger(1, 10_000_000),
    help: "verified tokens that are kept in memory",
  }),
};
