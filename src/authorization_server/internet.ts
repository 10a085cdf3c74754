/** The real network for {@link createDocumentFetcher}: the system's resolver, and TLS over a pinned TCP connection. */
import { lookup } from "node:dns/promises";
import type { Network } from "./public_document.ts";

/** Connects as the machine does. */
export const internet: Network = {
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  async connectTls({ address, port, host, signal }) {
    const tcp = await Deno.connect({ hostname: address, port, signal });
    try {
      // What counts is where the connection really leads.
      if (tcp.remoteAddr.hostname !== address) throw new Error("Connected to another address than the one asked for");
      const tls = await Deno.startTls(tcp, { hostname: host, alpnProtocols: ["http/1.1"] });
      const abandon = (): void => tls.close();
      signal.addEventListener("abort", abandon, { once: true });
      await tls.handshake();
      signal.removeEventListener("abort", abandon);
      return tls;
    } catch (error) {
      closeQuietly(tcp);
      throw error;
    }
  },
};

function closeQuietly(connection: { close(): void }): void {
  try {
    connection.close();
  } catch {
    // startTls has taken it over, or the deadline has closed it
  }
}
