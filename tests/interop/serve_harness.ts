/** The harness of the protocol layer on a port, for clients that are programs or libraries of their own. */
import type { Harness } from "../mcp/harness.ts";

/** A served harness. */
export interface ServedHarness {
  readonly url: URL;
  /** The ids with which clients came back for a stream. */
  readonly resumed: readonly string[];
  close(): Promise<void>;
}

/** Serves it on loopback. */
export function serveHarness(harness: Harness): ServedHarness {
  const resumed: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request, info) => {
    const id = request.headers.get("last-event-id");
    if (request.method === "GET" && id !== null) resumed.push(id);
    return harness.endpoint(request, { address: info.remoteAddr.hostname });
  });
  return {
    url: new URL(`http://127.0.0.1:${server.addr.port}/mcp`),
    resumed,
    close: async () => {
      await harness.mcp.close();
      await server.shutdown();
    },
  };
}
