/** Asks a server on this machine how it is. */
import type { IncomingMessage } from "node:http";
import { faultWords } from "./system_fault.ts";

/** Patience with it: what the caller's signal should allow. */
export const healthTimeoutMs = 3_000;
const maxBodyCharacters = 4_096;

/** An answer of `/health`. */
interface Health {
  readonly status: number;
  readonly body: string;
}

/** What it answers, or in words why nothing came. By node:http, which uses no proxy: fetch would, even for this machine. */
export async function askHealth(
  { host, port, usesTls, signal }: {
    readonly host: string;
    readonly port: number;
    readonly usesTls: boolean;
    readonly signal: AbortSignal;
  },
): Promise<Health | string> {
  const { get } = await import("node:http");
  const { get: getByTls } = await import("node:https");
  const { promise, resolve } = Promise.withResolvers<Health | string>();
  const target = { hostname: reachableHost(host), port, path: "/health", signal };
  const onError = (error: Error): void =>
    resolve(
      signal.aborted ? `did not answer within ${healthTimeoutMs / 1_000} s` : `cannot be reached: ${faultWords(error)}`,
    );
  const onResponse = (response: IncomingMessage): void => {
    let body = "";
    response.setEncoding("utf8");
    response.on("data", (text: string) => body = (body + text).slice(0, maxBodyCharacters));
    response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    response.on("error", onError);
  };
  // The certificate is made for the name that clients type, not for this machine's address; nothing secret is sent.
  const request = usesTls ? getByTls({ ...target, rejectUnauthorized: false }, onResponse) : get(target, onResponse);
  request.on("error", onError);
  return await promise;
}

/** The address to ask when the server listens on every one. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" || host === "[::]" ? "::1" : host.replace(/^\[|\]$/g, "");
}
