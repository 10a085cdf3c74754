/** What the protocol layer sees of a request over HTTP. Classes, since closures would cost each call. */
import { headerOf } from "../lib/served_request.ts";
import type { Principal } from "../lib/principal.ts";
import type { Exchange, PublicExchange } from "../mcp/exchange.ts";
import type { Profile } from "../mcp/profile.ts";
import { acceptsEventStream } from "./mcp_accept.ts";

export class PublicHttpExchange implements PublicExchange {
  readonly hasHeaders = true;
  readonly requestId: string;
  readonly profile: Profile;
  protected readonly request: Request;

  constructor(request: Request, requestId: string, profile: Profile) {
    this.request = request;
    this.requestId = requestId;
    this.profile = profile;
  }

  header(name: string): string | null {
    return headerOf(this.request, name);
  }
}

export class HttpExchange extends PublicHttpExchange implements Exchange {
  readonly canComeBack = true;
  readonly principal: Principal;

  constructor(request: Request, requestId: string, profile: Profile, principal: Principal) {
    super(request, requestId, profile);
    this.principal = principal;
  }

  get acceptsStream(): boolean {
    return acceptsEventStream(headerOf(this.request, "accept"));
  }

  get disconnected(): AbortSignal {
    return this.request.signal;
  }
}
