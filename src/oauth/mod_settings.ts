/**
 * Settings of sign-in, tokens and clients, with their defaults and bounds. `app` reads them before the rest of oauth is
 * loaded.
 */
import {
  day,
  optional,
  parseChoice,
  parsePasswordHash,
  parseSeconds,
  parseStrongSecret,
  parseSwitch,
  required,
} from "../lib/settings.ts";

/** The maximum lifetime of an access token; the verifier refuses longer ones. */
export const maxAccessTokenLifetimeSeconds = day;

/** Settings under the heading Sign-in, tokens and clients. */
export const authorizationServerSettings = {
  signIn: required({
    env: "SIGN_IN",
    default: "local",
    parse: parseChoice(["local", "servicenow"]),
    help: "where users sign in: here, with a passphrase, or at the ServiceNow instance",
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
    parse: parseSeconds(1, maxAccessTokenLifetimeSeconds),
    help: "lifetime of an access token, in seconds",
  }),
  registration: optional({
    env: "REGISTRATION",
    parse: parseChoice(["open", "token", "off"]),
    help: "who may register OAuth clients; by default open on a loopback SERVER_URL, otherwise token",
  }),
  registrationToken: optional({
    env: "DCR_AUTH_TOKEN",
    parse: parseStrongSecret,
    secret: true,
    help: "token that a client presents to register",
  }),
  clientMetadataDocuments: required({
    env: "CLIENT_METADATA_DOCUMENTS",
    default: "on",
    parse: parseSwitch,
    help: "accept client IDs that are https URLs of client metadata; the server then fetches public https pages",
  }),
};
