/** What one request and one caller may cost, logs, and the end. */
import { parseChoice, parseInteger } from "../parsers.ts";
import { mebibyte, optional, required } from "../setting.ts";

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
    help: "failed OAuth requests in 15 minutes for each address; ten times as many requests in all",
  }),
  registrationsPerHour: required({
    env: "REGISTRATION_RATE_LIMIT",
    default: "20",
    parse: parseInteger(1, 1_000_000_000),
    help: "client registrations an hour for each address",
  }),
  healthChecksPerMinute: required({
    env: "HEALTH_RATE_LIMIT",
    default: "30",
    parse: parseInteger(1, 1_000_000_000),
    help: "health checks a minute for each address",
  }),
  maxBodyBytes: optional({
    env: "JSON_BODY_LIMIT",
    parse: parseInteger(1_024, 64 * mebibyte),
    help: "largest JSON body of a request, in bytes; twice MAX_WRITE_BYTES and 64 KiB unless set",
  }),
  bodyTimeoutSeconds: required({
    env: "BODY_TIMEOUT",
    default: "20",
    parse: parseInteger(1, 600),
    help: "seconds in which the whole body of a request has to arrive",
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
  maxOAuthBodyBytes: required({
    env: "OAUTH_BODY_LIMIT",
    default: "65536",
    parse: parseInteger(1_024, mebibyte),
    help: "largest JSON body of a request to the authorization server, in bytes",
  }),
  maxFormBytes: required({
    env: "FORM_BODY_LIMIT",
    default: "65536",
    parse: parseInteger(1_024, mebibyte),
    help: "largest form of a request, in bytes",
  }),
  maxPublicBodyBytes: required({
    env: "PUBLIC_BODY_LIMIT",
    default: "65536",
    parse: parseInteger(256, 64 * mebibyte),
    help: "largest JSON body of a request without a token, in bytes",
  }),
  maxQueryBytes: required({
    env: "QUERY_LIMIT",
    default: "8192",
    parse: parseInteger(512, 65_536),
    help: "longest query of a request to the authorization server, in bytes",
  }),
  shutdownDelaySeconds: required({
    env: "SHUTDOWN_DELAY",
    default: "0",
    parse: parseInteger(0, 600),
    help:
      "seconds in which a server that is told to stop still answers everything, but /health/ready with 503, so that a load balancer looks away first",
  }),
  logRepeatWindowSeconds: required({
    env: "LOG_REPEAT_WINDOW",
    default: "60",
    parse: parseInteger(0, 3_600),
    help:
      "seconds in which lines of one kind that anybody can cause, such as refused tokens, are counted after the first few; 0 writes each",
  }),
  logMaxLinesOfKind: required({
    env: "LOG_REPEATS",
    default: "10",
    parse: parseInteger(1, 10_000),
    help: "lines of one such kind that are written in that time before the others are counted",
  }),
  logMaxRepeatKinds: required({
    env: "LOG_MAX_REPEAT_KINDS",
    default: "500",
    parse: parseInteger(1, 100_000),
    help: "kinds of such lines that are told apart in that time",
  }),
  logFormat: optional({
    env: "LOG_FORMAT",
    parse: parseChoice(["json", "text"]),
    help: "how a line of the log is written; default text when standard error is a terminal, else json",
  }),
};
