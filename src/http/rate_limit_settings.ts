/** Settings under the heading Rate limits. */
import { parseInteger } from "../lib/parsers.ts";
import { required } from "../lib/setting.ts";

export const rateLimitSettings = {
  toolCallsPerMinute: required({
    env: "MCP_RATE_LIMIT",
    default: "600",
    parse: parseInteger(1, 1_000_000_000),
    help: "calls and other requests a minute for each user and client",
  }),
  oauthFailuresPerQuarterHour: required({
    env: "OAUTH_RATE_LIMIT",
    default: "100",
    parse: parseInteger(1, 1_000_000_000),
    help:
      "failed OAuth requests in 15 minutes for each address; ten times as many requests in all, and a fifth as many registrations an hour",
  }),
};
