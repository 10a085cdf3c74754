/** The authorization server on a real socket, and a client that waits for its redirect. */
import { randomBytes } from "node:crypto";
import { type AuthorizationServer, createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import type { AuthorizationServerOptions } from "../../src/oauth/context.ts";
import { createHomeEndpoint } from "../../src/http/home.ts";
import { notFoundPage } from "../../src/http/router.ts";
import type { Endpoint } from "../../src/lib/endpoint.ts";
import { createSecretBox, type SecretBox } from "../../src/lib/secrets.ts";
import type { Storage } from "../../src/storage/port.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { mount, usualLifetimes } from "../authorization_server/harness.ts";

export interface RunningServer extends AsyncDisposable {
  readonly issuer: string;
  readonly server: AuthorizationServer;
  readonly storage: Storage;
  readonly secrets: SecretBox;
  /** How long each answer to a form takes on its way, in milliseconds. */
  delays: { form: number };
}

export async function startServer(
  options: Pick<AuthorizationServerOptions, "ownerPasswordHash" | "company"> = {},
): Promise<RunningServer> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-browser-" });
  const storage = openSqliteStorage({ path: `${directory}/portcullis.db`, clock: Date.now });
  let handle = (_: Request): Promise<Response> => Promise.resolve(new Response(null, { status: 503 }));
  const listener = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => handle(request));
  const issuer = `http://127.0.0.1:${listener.addr.port}`;
  const secrets = createSecretBox(randomBytes(32));
  const server = createAuthorizationServer({
    issuer,
    resource: `${issuer}/mcp`,
    resourceAliases: [],
    storage,
    secrets,
    clock: Date.now,
    log: { write: () => {}, flush: () => {} },
    registration: { mode: "open" },
    ...options,
    lifetimes: usualLifetimes,
  });
  const pages = {
    resourceOf: () => `${issuer}/mcp`,
    base: "",
    isSetUp: server.isSetUp,
    hasConsole: false,
    hasServicenow: false,
  };
  const mounted: Record<string, Endpoint> = {
    ...mount(server),
    "/": createHomeEndpoint(pages),
    "/mcp": createHomeEndpoint(pages),
  };
  const delays = { form: 0 };
  handle = async (request) => {
    const { pathname } = new URL(request.url);
    const answer = await mounted[pathname]?.(request, { address: "127.0.0.1" }) ?? notFoundPage("");
    if (request.method === "POST") await new Promise((resolve) => setTimeout(resolve, delays.form));
    return answer;
  };
  return {
    issuer,
    server,
    storage,
    secrets,
    delays,
    async [Symbol.asyncDispose]() {
      await listener.shutdown();
      await storage.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

export interface WaitingClient extends AsyncDisposable {
  readonly redirectUri: string;
  /** The query of the authorization response, once it has come. */
  readonly answered: Promise<URLSearchParams>;
}

const answerTimeoutMs = 60_000;
const tellOpener = 'if (opener) opener.postMessage(location.search, "*")';

/** A native client's callback on loopback; `host` as it stands in the redirect URI. It may redirect on to `next`. */
export function startClient(host: "127.0.0.1" | "[::1]" | "localhost", next?: string): WaitingClient {
  const { promise, resolve, reject } = Promise.withResolvers<URLSearchParams>();
  const timer = setTimeout(() => reject(new Error("the browser was not sent back")), answerTimeoutMs);
  promise.catch(() => {}).finally(() => clearTimeout(timer));
  const hostname = host === "[::1]" ? "::1" : "127.0.0.1";
  const listener = Deno.serve({ hostname, port: 0, onListen: () => {} }, (request) => {
    const url = new URL(request.url);
    if (url.pathname === "/callback") {
      resolve(url.searchParams);
      if (next !== undefined) return new Response(null, { status: 302, headers: { location: next } });
    }
    return new Response(`<!DOCTYPE html><title>Back at the client</title><script>${tellOpener}</script>`, {
      headers: { "content-type": "text/html" },
    });
  });
  return {
    redirectUri: `http://${host}:${listener.addr.port}/callback`,
    answered: promise,
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await listener.shutdown();
    },
  };
}
