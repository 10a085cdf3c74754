/** What the protocol layer answers to one posted body. The HTTP endpoint, or stdio, turns it into bytes. */
import type { FrameReader } from "./message_stream.ts";

/** One answer. Refusals that the transport states as a status are kinds of their own. */
export type McpAnswer =
  | JsonAnswer
  /** Nothing to say: a notification or a posted response was taken. */
  | { readonly kind: "accepted"; readonly status: number }
  /** `scopes` are those that the client is to ask for. */
  | { readonly kind: "insufficient_scope"; readonly scopes: readonly string[]; readonly body: string }
  | { readonly kind: "rate_limited"; readonly retryAfterSeconds: number; readonly body: string }
  /** The database is lost for the moment. */
  | { readonly kind: "unavailable"; readonly retryAfterSeconds: number; readonly body: string }
  /** Messages as they come; the last one is the response, unless the stream is of no request. */
  | { readonly kind: "stream"; readonly reader: FrameReader }
  /** A response that is not there yet, as the only message of its reader. */
  | { readonly kind: "late_json"; readonly reader: FrameReader }
  /** A method of HTTP that is not served here. */
  | { readonly kind: "method_not_allowed"; readonly allow: string; readonly message?: string };

export interface JsonAnswer {
  readonly kind: "json";
  readonly status: number;
  readonly body: string;
  readonly sessionId?: string;
}
