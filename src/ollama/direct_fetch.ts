/**
 * Fetch for one host. Deno's fetch obeys HTTP_PROXY for loopback addresses too, which would hand local prompts to the
 * proxy; a client whose "proxy" is a plain TCP connection to the host itself goes there directly.
 */
import type { OllamaHost } from "./host.ts";

/** The call signature of the platform's `fetch`. */
export type Fetch = typeof globalThis.fetch;

/** A fetch, and the connections behind it. */
export interface HostFetch {
  readonly fetch: Fetch;
  close(): void;
}

/** `fetch` itself for remote hosts and on platforms without `Deno.createHttpClient`; a direct one for loopback. */
export function createHostFetch(host: OllamaHost, fetch: Fetch): HostFetch {
  if (!host.isLoopback || typeof Deno.createHttpClient !== "function") return { fetch, close: () => {} };
  const client = Deno.createHttpClient({ proxy: { transport: "tcp", hostname: host.hostname, port: host.port } });
  return {
    fetch: (input, init) => fetch(input, { ...init, client }),
    close: () => client.close(),
  };
}
