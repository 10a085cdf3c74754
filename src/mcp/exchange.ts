/** One posted body's surroundings, as far as the protocol layer may look at them. */
import type { Principal } from "../lib/principal.ts";
import type { Profile } from "./profile.ts";

/** What the transport reports about the public part of the handshake, whose caller has shown no token. */
export interface PublicExchange {
  /** Names the request in audit and log. */
  readonly requestId: string;
  readonly profile: Profile;
  /** Whether requests come with headers of their own, which must then agree with their bodies. */
  readonly hasHeaders: boolean;
  /** A header's value; names are in lower case. `null` when absent, and for every header of a transport without any. */
  header(name: string): string | null;
}

/** What the transport reports about one posted body. */
export interface Exchange extends PublicExchange {
  readonly principal: Principal;
  /** Whether the answer may be a stream of messages. */
  readonly acceptsStream: boolean;
  /** Whether a caller whose connection is lost may come back for its answer. */
  readonly canComeBack: boolean;
  /** Aborts when the caller is gone. Costly to read: only for calls that wait for something. */
  readonly disconnected: AbortSignal;
}
