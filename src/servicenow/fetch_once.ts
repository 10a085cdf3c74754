/**
 * Fetch for what must not be sent twice. When a connection that was kept open breaks, Deno's fetch repeats the request
 * by itself, POST or not; on a connection of its own it does not. An incident would be opened twice, and a refresh token
 * that rotates would look stolen.
 */
import type { Fetch } from "./transport.ts";

/** A fetch, and what to close when it is not used any more. */
interface FetchOnce {
  readonly fetch: Fetch;
  close(): void;
}

/** `fetch` over a new connection each time; `fetch` itself on platforms without `Deno.createHttpClient`. */
export function createFetchOnce(fetch: Fetch): FetchOnce {
  if (typeof Deno.createHttpClient !== "function") return { fetch, close: () => {} };
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  return { fetch: (input, init) => fetch(input, { ...init, client }), close: () => client.close() };
}
