/** What every endpoint is: a request and its sender in, a response out. */

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

export interface Route {
  /** The first is its own; others are what older clients look for. */
  readonly paths: readonly [string, ...string[]];
  /**
   * `page` works by cookie, so other sites' forms are refused. `shared` has no ambient authority, so pages of any origin
   * may read it. `plain` is served as it is.
   */
  readonly kind: "page" | "shared" | "plain";
  readonly endpoint: Endpoint;
}
