/** The instance whose records are offered, and the bounds on talking to it. */
import { parseInstanceUrl, parseInteger, parseMasterKey, parseSwitch, parseText } from "../parsers.ts";
import { day, mebibyte, optional, required } from "../setting.ts";

/** Settings under the heading ServiceNow. */
export const servicenowSettings = {
  servicenowInstance: optional({
    env: "SERVICENOW_INSTANCE",
    parse: parseInstanceUrl,
    help: "address of the ServiceNow instance whose records are offered, to each person with their own rights",
  }),
  servicenowClientId: optional({
    env: "SERVICENOW_CLIENT_ID",
    parse: parseText,
    help: "the instance's id of this server as an OAuth client",
  }),
  servicenowClientSecret: optional({
    env: "SERVICENOW_CLIENT_SECRET",
    parse: parseText,
    secret: true,
    help: "the secret that belongs to SERVICENOW_CLIENT_ID",
  }),
  servicenowTokenKey: optional({
    env: "SERVICENOW_TOKEN_KEY",
    parse: parseMasterKey,
    secret: true,
    help: "a key of its own for the tokens of linked accounts, in place of the master key",
  }),
  servicenowPreviousTokenKey: optional({
    env: "SERVICENOW_TOKEN_KEY_PREVIOUS",
    parse: parseMasterKey,
    secret: true,
    help: "the token key before: what it sealed is sealed anew at the start",
  }),
  servicenowWrite: required({
    env: "SERVICENOW_WRITE",
    default: "off",
    parse: parseSwitch,
    help: "whether tools that write to ServiceNow, and their scope, are offered",
  }),
  servicenowCallsPerMinute: required({
    env: "SERVICENOW_RATE_LIMIT",
    default: "60",
    parse: parseInteger(1, 1_000_000),
    help: "calls to the instance a minute for each person",
  }),
  servicenowAttemptTimeoutSeconds: required({
    env: "SERVICENOW_ATTEMPT_TIMEOUT",
    default: "10",
    parse: parseInteger(1, 600),
    help: "seconds for one request to the instance",
  }),
  servicenowCallTimeoutSeconds: required({
    env: "SERVICENOW_CALL_TIMEOUT",
    default: "14",
    parse: parseInteger(1, 3_600),
    help:
      "seconds for a call with its attempts; ServiceNow's agents give up after 30, and a tool makes two calls at most",
  }),
  servicenowMaxAttempts: required({
    env: "SERVICENOW_MAX_ATTEMPTS",
    default: "3",
    parse: parseInteger(1, 100),
    help: "how often a call that only reads is sent, the first time included",
  }),
  servicenowRetryDelayMilliseconds: required({
    env: "SERVICENOW_RETRY_DELAY_MS",
    default: "250",
    parse: parseInteger(1, 60_000),
    help: "milliseconds before the second attempt; they double for each further one",
  }),
  servicenowMaxRetryAfterSeconds: required({
    env: "SERVICENOW_MAX_RETRY_AFTER",
    default: "3",
    parse: parseInteger(0, 600),
    help: "the longest Retry-After of the instance that is waited for, in seconds",
  }),
  servicenowMaxPauseSeconds: required({
    env: "SERVICENOW_MAX_PAUSE",
    default: "3600",
    parse: parseInteger(1, day),
    help: "seconds for which a person's calls are held back at most when the instance says to come back later",
  }),
  servicenowMaxPausedUsers: required({
    env: "SERVICENOW_MAX_PAUSED_USERS",
    default: "10000",
    parse: parseInteger(1, 10_000_000),
    help: "people for whom that is remembered",
  }),
  servicenowMaxReplyBytes: required({
    env: "SERVICENOW_MAX_REPLY_BYTES",
    default: String(mebibyte),
    parse: parseInteger(1_024, 64 * mebibyte),
    help: "largest answer of the instance, in bytes",
  }),
  servicenowMaxAttachmentBytes: required({
    env: "SERVICENOW_MAX_ATTACHMENT_BYTES",
    default: String(mebibyte),
    parse: parseInteger(1, 64 * mebibyte),
    help: "largest attachment, in bytes",
  }),
  servicenowMaxFieldCharacters: required({
    env: "SERVICENOW_MAX_FIELD_CHARACTERS",
    default: "20000",
    parse: parseInteger(100, 1_000_000),
    help: "characters after which a tool cuts the value of a field, and says so",
  }),
  servicenowMaxSearchResults: required({
    env: "SERVICENOW_MAX_SEARCH_RESULTS",
    default: "50",
    parse: parseInteger(1, 1_000),
    help: "records that one search gives",
  }),
  servicenowMaxTextCharacters: required({
    env: "SERVICENOW_MAX_TEXT_CHARACTERS",
    default: "20000",
    parse: parseInteger(1, 1_000_000),
    help: "longest text that is sent to the instance, in characters",
  }),
  servicenowTokenTimeoutSeconds: required({
    env: "SERVICENOW_TOKEN_TIMEOUT",
    default: "10",
    parse: parseInteger(1, 20),
    help: "seconds for a request to the token endpoint of the instance",
  }),
  servicenowRefreshEarlySeconds: required({
    env: "SERVICENOW_REFRESH_EARLY",
    default: "60",
    parse: parseInteger(0, 3_600),
    help: "seconds before its end in which a token of the instance is renewed",
  }),
  servicenowRefreshLockSeconds: required({
    env: "SERVICENOW_REFRESH_LOCK",
    default: "30",
    parse: parseInteger(25, 600),
    help: "seconds after which another server takes over a renewal that was begun and never ended",
  }),
  servicenowRefreshPauseSeconds: required({
    env: "SERVICENOW_REFRESH_PAUSE",
    default: "5",
    parse: parseInteger(0, 600),
    help: "seconds in which a renewal that found no instance is not tried again",
  }),
  servicenowLinkLifetimeSeconds: required({
    env: "SERVICENOW_LINK_TIMEOUT",
    default: "600",
    parse: parseInteger(30, day),
    help: "seconds that a person may take to sign in at the instance",
  }),
};
