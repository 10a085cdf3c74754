/** Which clients there may be. */
import { parseChoice, parseInteger, parseStrongSecret, parseSwitch } from "../parsers.ts";
import { day, mebibyte, optional, required, year } from "../setting.ts";

/** Settings under the heading OAuth clients. */
export const clientSettings = {
  registration: optional({
    env: "REGISTRATION",
    parse: parseChoice(["open", "token", "off"]),
    help: "who may register OAuth clients; default open on a loopback SERVER_URL, else token",
  }),
  registrationToken: optional({
    env: "DCR_AUTH_TOKEN",
    parse: parseStrongSecret,
    secret: true,
    help: "token that a client presents to register itself",
  }),
  clientMetadataDocuments: required({
    env: "CLIENT_METADATA_DOCUMENTS",
    default: "on",
    parse: parseSwitch,
    help:
      "whether clients may name themselves by an https URL that describes them; the server then fetches public https pages",
  }),
  clientMetadataTimeoutSeconds: required({
    env: "CLIENT_METADATA_TIMEOUT",
    default: "5",
    parse: parseInteger(1, 60),
    help: "seconds for fetching what a client says of itself",
  }),
  clientMetadataMaxBytes: required({
    env: "CLIENT_METADATA_MAX_BYTES",
    default: "5120",
    parse: parseInteger(256, mebibyte),
    help: "largest document that a client says of itself, in bytes",
  }),
  clientMetadataMaxFetches: required({
    env: "CLIENT_METADATA_MAX_FETCHES",
    default: "8",
    parse: parseInteger(1, 1_000),
    help: "such documents that are fetched at once; a quarter for one asker or host, and more wait",
  }),
  clientMetadataFreshnessSeconds: required({
    env: "CLIENT_METADATA_FRESHNESS",
    default: "300",
    parse: parseInteger(0, day),
    help: "seconds for which such a document is kept when its headers say nothing about it",
  }),
  clientMetadataMaxFreshnessSeconds: required({
    env: "CLIENT_METADATA_MAX_FRESHNESS",
    default: "3600",
    parse: parseInteger(0, 30 * day),
    help: "seconds for which one is kept at most, whatever its headers say",
  }),
  clientMetadataMaxCached: required({
    env: "CLIENT_METADATA_MAX_CACHED",
    default: "500",
    parse: parseInteger(1, 1_000_000),
    help: "such documents that are kept in memory",
  }),
  clientKeysFreshnessSeconds: required({
    env: "CLIENT_KEYS_FRESHNESS",
    default: "600",
    parse: parseInteger(0, 30 * day),
    help: "seconds for which the keys at a client's jwks_uri are kept",
  }),
  clientKeysRetrySeconds: required({
    env: "CLIENT_KEYS_RETRY",
    default: "60",
    parse: parseInteger(1, day),
    help: "seconds after which keys that fit no signature are fetched anew at the earliest",
  }),
  clientKeysMaxCached: required({
    env: "CLIENT_KEYS_MAX_CACHED",
    default: "200",
    parse: parseInteger(1, 1_000_000),
    help: "sets of such keys that are kept in memory",
  }),
  maxRedirectUris: required({
    env: "MAX_REDIRECT_URIS",
    default: "20",
    parse: parseInteger(1, 1_000),
    help: "redirect addresses that one client may register",
  }),
  maxUnusedClients: required({
    env: "MAX_UNUSED_CLIENTS",
    default: "1000",
    parse: parseInteger(1, 1_000_000),
    help: "registered clients that nobody has approved yet",
  }),
  unusedClientGraceSeconds: required({
    env: "UNUSED_CLIENT_GRACE",
    default: "3600",
    parse: parseInteger(0, year),
    help: "seconds in which such a client is not removed to make room for another",
  }),
  unusedClientLifetimeSeconds: required({
    env: "UNUSED_CLIENT_LIFETIME",
    default: String(30 * day),
    parse: parseInteger(60, 10 * year),
    help: "seconds after which such a client is removed",
  }),
};
