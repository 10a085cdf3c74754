/** Who sent a request, by its connection and by what trusted proxies say. */
import type { Peer } from "../lib/endpoint.ts";
import { isTrustedProxy, type TrustedProxies } from "../lib/trusted_proxies.ts";
import { clientAddress } from "./client_address.ts";
import type { ProxyNotice } from "./proxy_notice.ts";

/** Whose word is taken, and who is told of a proxy whose word is not. */
interface Proxies {
  readonly trusted: TrustedProxies | undefined;
  readonly notice: ProxyNotice;
}

/** Asks Deno for the address when it is first read: most requests never read it. A class, since closures cost. */
export class ConnectionPeer implements Peer {
  readonly #request: Request;
  readonly #info: Deno.ServeHandlerInfo<Deno.NetAddr>;
  readonly #proxies: Proxies;

  constructor(request: Request, info: Deno.ServeHandlerInfo<Deno.NetAddr>, proxies: Proxies) {
    this.#request = request;
    this.#info = info;
    this.#proxies = proxies;
  }

  get answerSent(): Promise<void> {
    return this.#info.completed.catch(() => {});
  }

  get address(): string {
    // Where the platform listens by other means than TCP, there is none; all who call then share one.
    const hostname = (this.#info.remoteAddr as Partial<Deno.NetAddr>).hostname ?? "unknown";
    const { trusted, notice } = this.#proxies;
    if (trusted !== undefined && isTrustedProxy(hostname, 0, trusted)) {
      return clientAddress(hostname, this.#request.headers, trusted);
    }
    notice(hostname, this.#request.headers);
    return hostname;
  }
}
