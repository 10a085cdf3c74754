/** What the protocol layer answers to one posted body. The HTTP endpoint, or stdio, turns it into bytes. */

/** One answer. Refusals that the transport states as a status are kinds of their own. */
export type McpAnswer =
  | { readonly kind: "json"; readonly status: number; readonly body: string }
  /** Nothing to say: a notification or a posted response was taken. */
  | { readonly kind: "accepted"; readonly status: number }
  | { readonly kind: "insufficient_scope"; readonly scopes: readonly string[]; readonly body: string }
  | { readonly kind: "rate_limited"; readonly retryAfterSeconds: number; readonly body: string };
