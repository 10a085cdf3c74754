/**
 * A fetch for one host. Deno's fetch obeys HTTP_PROXY for loopback addresses too, which would hand local prompts to the
 * proxy; a client whose "proxy" is a plain TCP connection to the host itself goes there directly. Requests then carry
 * the whole URL as their target (RFC 9112 §3.2.2), which some servers misread: so only where a proxy is set.
 */
import type { OllamaHost } from "./host.ts";

/** The call signature of the platform's `fetch`. */
export type OllamaFetch = typeof globalThis.fetch;

/** A fetch, and the connections behind it. */
interface HostFetch {
  readonly fetch: OllamaFetch;
  close(): void;
}

/** `fetch` itself; for loopback hosts, with `avoidProxy` and where the platform can, one that knows no proxy. */
export function createHostFetch(host: OllamaHost, fetch: OllamaFetch, avoidProxy: boolean): HostFetch {
  if (!avoidProxy || !host.isLoopback || typeof Deno.createHttpClient !== "function") return { fetch, close: () => {} };
  const client = Deno.createHttpClient({ proxy: { transport: "tcp", hostname: host.hostname, port: host.port } });
  return { fetch: (input, init) => fetch(input, { ...init, client }), close: () => client.close() };
}
