/** What one request and one caller may cost, logs, and the end. */
import { parseChoice, parseInteger } from "../parsers.ts";
import { optional, required } from "../setting.ts";

/** Settings under the heading Limits, logs and stopping. */
export const operationSettings = {
  toolCallsPerMinute: required({
    env: "MCP_RATE_LIMIT",
    default: "600",
    parse: parseInteger(1, 1_000_000_000),
    help: "tool calls a minute for each user and client",
  }),
  oauthFailuresPerQuarterHour: required({
    env: "OAUTH_RATE_LIMIT",
    default: "100",
    parse: parseInteger(1, 1_000_000_000),
    help:
      "failed OAuth requests in 15 minutes for each address; ten times as many requests in all, and a fifth as many registrations an hour",
  }),
  healthChecksPerMinute: required({
    env: "HEALTH_RATE_LIMIT",
    default: "30",
    parse: parseInteger(1, 1_000_000_000),
    help: "health checks a minute for each address",
  }),
  shutdownTimeoutSeconds: required({
    env: "SHUTDOWN_TIMEOUT",
    default: "10",
    defaultOnDeploy: "3",
    parse: parseInteger(0, 3_600),
    help: "seconds that requests in flight get when the server stops",
  }),
  logLevel: required({
    env: "LOG_LEVEL",
    default: "info",
    parse: parseChoice(["debug", "info", "warn", "error"]),
    help: "least level that is logged; audit lines always are",
  }),
  shutdownDelaySeconds: required({
    env: "SHUTDOWN_DELAY",
    default: "0",
    parse: parseInteger(0, 600),
    help:
      "seconds in which a server that is told to stop still answers everything, but /health/ready with 503, so that a load balancer looks away first",
  }),
  logFormat: optional({
    env: "LOG_FORMAT",
    parse: parseChoice(["json", "text"]),
    help: "how a line of the log is written; default text when standard error is a terminal, else json",
  }),
};
