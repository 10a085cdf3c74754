/** `healthcheck`: asks the server on this machine how it is; for containers, which have no curl. */
import type { IncomingMessage } from "node:http";
import { describeProblems } from "../config/describe_problems.ts";
import { faultWords } from "../lib/system_fault.ts";
import type { Command, CommandContext, ExitStatus } from "./command.ts";

const timeoutMilliseconds = 3_000;

/** Exits 0 when `/health` of the configured port answers 200, else 1. */
export const healthcheckCommand: Command = {
  name: "healthcheck",
  summary: "exits 0 when the server on this machine is well",
  usage: ["healthcheck [--host H] [--port P]"],
  takesNoWords: true,
  flags: {},
  run: healthcheck,
};

async function healthcheck({ loadConfig, say }: CommandContext): Promise<ExitStatus> {
  const config = loadConfig();
  if (!config.ok) {
    say(describeProblems(config.error));
    return 2;
  }
  const { host, port, tls } = config.value;
  const outcome = await statusOf(reachableHost(host), port, tls !== undefined);
  if (outcome === 200) return 0;
  say(`error: /health on port ${port} ${typeof outcome === "number" ? `answered ${outcome}` : outcome}\n`);
  return 1;
}

/** The address to ask when the server listens on every one. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" || host === "[::]" ? "::1" : host.replace(/^\[|\]$/g, "");
}

/** By node:http, which goes through no proxy: fetch would take HTTP_PROXY even for this machine. */
async function statusOf(hostname: string, port: number, usesTls: boolean): Promise<number | string> {
  const { get } = await import("node:http");
  const { get: getByTls } = await import("node:https");
  const { promise, resolve } = Promise.withResolvers<number | string>();
  const target = { hostname, port, path: "/health", timeout: timeoutMilliseconds };
  const onResponse = (response: IncomingMessage): void => {
    response.resume();
    response.on("end", () => resolve(response.statusCode ?? 0));
  };
  // The certificate is made for the name that clients type, not for this machine's address; nothing secret is sent.
  const request = usesTls ? getByTls({ ...target, rejectUnauthorized: false }, onResponse) : get(target, onResponse);
  request.on("timeout", () => {
    resolve(`did not answer within ${timeoutMilliseconds / 1_000} s`);
    request.destroy();
  });
  request.on("error", (error) => resolve(`cannot be reached: ${faultWords(error)}`));
  return await promise;
}
