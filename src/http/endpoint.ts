/** What every endpoint is: a request and its sender in, a response out. */

/** The other end of the connection. */
export interface Peer {
  /** Its IP address as the operating system names it. */
  readonly address: string;
}

/** An endpoint answers at once or by promise; it never throws for anything a client sent. */
export type Endpoint = (request: Request, peer: Peer) => Response | Promise<Response>;
