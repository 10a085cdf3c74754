/** Settings of the process: its threads, its log and its end. */
import { parseChoice, parseInteger, parseWorkers } from "./parsers.ts";
import { optional, required, type ValuesOf } from "./setting.ts";

export const serverSettings = {
  workers: required({
    env: "WORKERS",
    flag: "workers",
    default: "1",
    parse: parseWorkers,
    help: "threads that answer requests on the one port, each a server of its own (Linux); auto: one for each core",
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

export type ServerSettings = ValuesOf<typeof serverSettings>;
