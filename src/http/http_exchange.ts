/** What the protocol layer sees of a request over HTTP. */
import type { Principal } from "../lib/principal.ts";
import type { Exchange } from "../mcp/exchange.ts";
import type { Profile } from "../mcp/sessions/profile.ts";
import { acceptsEventStream } from "./mcp_accept.ts";

/** The HTTP side of an exchange. A class, since closures would cost each call. */
export class HttpExchange implements Exchange {
  readonly hasHeaders = true;
  readonly canComeBack = true;
  readonly #request: Request;
  readonly requestId: string;
  readonly principal: Principal | null;
  readonly profile: Profile;

  constructor(request: Request, requestId: string, principal: Principal | null, profile: Profile) {
    this.#request = request;
    this.requestId = requestId;
    this.principal = principal;
    this.profile = profile;
  }

  header(name: string): string | null {
    return this.#request.headers.get(name);
  }

  get acceptsStream(): boolean {
    return acceptsEventStream(this.#request.headers.get("accept"));
  }

  get disconnected(): AbortSignal {
    return this.#request.signal;
  }
}
