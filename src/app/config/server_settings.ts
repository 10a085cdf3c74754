/** Settings of the process: its threads, its log and its end. */
import { parseChoice, parseInteger, parseWorkers } from "../../lib/parsers.ts";
import { optional, required, type ValuesOf } from "../../lib/setting.ts";

export const serverSettings = {
  workers: required({
    env: "WORKERS",
    flag: "workers",
    default: "1",
    parse: parseWorkers,
    help: "server threads that share the port (Linux); auto: one for each core",
  }),
  shutdownTimeoutSeconds: required({
    env: "SHUTDOWN_TIMEOUT",
    default: "10",
    defaultOnDeploy: "3",
    parse: parseInteger(0, 3_600),
    help: "seconds to wait for requests in flight when the server stops",
  }),
  logLevel: required({
    env: "LOG_LEVEL",
    default: "info",
    parse: parseChoice(["debug", "info", "warn", "error"]),
    help: "lowest level that is logged; audit lines always are",
  }),
  shutdownDelaySeconds: required({
    env: "SHUTDOWN_DELAY",
    default: "0",
    parse: parseInteger(0, 600),
    help:
      "seconds to keep serving after the signal to stop, with 503 on /health/ready, so that a load balancer moves on first",
  }),
  logFormat: optional({
    env: "LOG_FORMAT",
    parse: parseChoice(["json", "text"]),
    help: "format of log lines; by default text on a terminal, otherwise json",
  }),
};

export type ServerSettings = ValuesOf<typeof serverSettings>;
