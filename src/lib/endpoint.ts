/** What every endpoint is: a request and its sender in, a response out. */
import type { IncomingMessage } from "node:http";
import { isObject, parseJson } from "./json.ts";
import { withoutBrackets } from "./network.ts";
import { faultWords } from "./system_fault.ts";
import { pause, within } from "./time.ts";

/** What an endpoint of the sign-in made of a request: a step of a client on its way to a connection. */
export interface ReportedStep {
  readonly outcome: string;
  /** Why it was refused: a tag, never a sentence. */
  readonly reason?: string | undefined;
  /** The client's id, or what the log has in its place. */
  readonly client?: string | undefined;
  /** What the client calls itself. */
  readonly name?: string | undefined;
  readonly user?: string | undefined;
  readonly grant?: string | undefined;
  readonly grantType?: string | undefined;
  readonly redirectHost?: string | undefined;
}

/** Who sent a request. */
export interface Peer {
  /** The IP address of the connection's other end, or of the client that trusted proxies say they speak for. */
  readonly address: string;
  /** Resolves when the answer was sent whole, or its connection was lost. */
  readonly answerSent?: Promise<void>;
  /** Takes what became of this very request. */
  readonly onStep?: (step: ReportedStep) => void;
}

/** An endpoint answers at once or by promise; it never throws for anything a client sent. */
export type Endpoint = (request: Request, peer: Peer) => Response | Promise<Response>;

/** An endpoint of what can only be read. */
export function onGet(answer: Endpoint): Endpoint {
  return (request, peer) =>
    request.method === "GET" || request.method === "HEAD"
      ? answer(request, peer)
      : new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
}

export interface Route {
  /** The first is its own; others are what older clients look for. */
  readonly paths: readonly [string, ...string[]];
  /**
   * `page` works by cookie, so other sites' forms are refused. `shared` has no ambient authority, so pages of any
   * origin may read it. `plain` is served as it is.
   */
  readonly kind: "page" | "shared" | "plain";
  readonly endpoint: Endpoint;
}

/** How our own checks name themselves, so that they are not taken for a client that tries to connect. */
export const doctorAgent = "portcullis-doctor";

/** How long an answer may take. */
const healthTimeoutMs = 3_000;
const maxBodyCharacters = 4_096;

/** An answer of `/health`. */
interface Health {
  readonly status: number;
  readonly body: string;
}

/** What it answers, or in words why nothing came. By node:http, which uses no proxy: fetch would, even for this machine. */
export function askHealth(listener: ListenerPlace): Promise<Health | string> {
  return within(healthTimeoutMs, pause, (late) => ask(listener, late));
}

interface ListenerPlace {
  readonly host: string;
  readonly port: number;
  readonly usesTls: boolean;
}

async function ask({ host, port, usesTls }: ListenerPlace, signal: AbortSignal): Promise<Health | string> {
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
  // Without `ca`, Node's variable for further authorities asks for a permission that the program does not hold.
  const unverified = { rejectUnauthorized: false, ca: [] };
  const request = usesTls ? getByTls({ ...target, ...unverified }, onResponse) : get(target, onResponse);
  request.on("error", onError);
  return await promise;
}

/** Whether a body is that of a Portcullis server's `/health`, well or not. */
export function isHealthBody(body: string): boolean {
  const parsed = parseJson(body);
  return isObject(parsed) && ["status", "version", "storage"].every((name) => name in parsed);
}

/** The address to ask when the server listens on every one. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" || host === "[::]" ? "::1" : withoutBrackets(host);
}
