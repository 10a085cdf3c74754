/** Rate limits by address around the endpoints that anyone can reach without a token. */
import type { Endpoint } from "../lib/endpoint.ts";
import { addressKey } from "../lib/address_key.ts";
import type { RateLimiter } from "./rate_limit.ts";

const successCost = 0.1;

/** What {@link limitAttempts} takes besides. */
export interface AttemptOptions {
  /** A key for the holder of a credential that proves itself, `null` for other requests. */
  readonly credentialKey: (request: Request) => Promise<string | null>;
  /** Called for each request that is refused. */
  readonly onRefused: () => void;
}

/**
 * Guards an OAuth endpoint against guessing: a failed request costs ten times what a good one does, so that one
 * address shared by many users (claude.ai has two) is not shut out by its own success. Where the address has used up
 * its allowance, a valid credential has one of its own: a stranger behind the same proxy cannot shut its holder out.
 */
export function limitAttempts(
  limiter: RateLimiter,
  endpoint: Endpoint,
  { credentialKey, onRefused }: AttemptOptions,
): Endpoint {
  return async (request, peer) => {
    let key = addressKey(peer.address);
    let admission = await limiter.take(key, successCost);
    if (!admission.ok) {
      const holder = await credentialKey(request);
      if (holder !== null) {
        key = `credential ${holder}`;
        admission = await limiter.take(key, successCost);
      }
    }
    if (!admission.ok) {
      onRefused();
      return tooManyRequests(admission.retryAfterSeconds);
    }
    const response = await endpoint(request, peer);
    if (response.status >= 400) limiter.charge(key, 1 - successCost);
    return response;
  };
}

/** Guards an endpoint by plain count, whatever it answers. `onRefused` as above. */
export function limitRequests(limiter: RateLimiter, endpoint: Endpoint, onRefused: () => void = () => {}): Endpoint {
  return async (request, peer) => {
    const admission = await limiter.take(addressKey(peer.address));
    if (admission.ok) return await endpoint(request, peer);
    onRefused();
    return tooManyRequests(admission.retryAfterSeconds);
  };
}

/** RFC 6585 §4. The body is an OAuth error (RFC 6749 §5.2 allows further codes), since most callers parse one. */
function tooManyRequests(retryAfterSeconds: number): Response {
  const description = `Too many requests from this address; try again in ${retryAfterSeconds} seconds`;
  return Response.json({ error: "temporarily_unavailable", error_description: description }, {
    status: 429,
    headers: { "retry-after": String(retryAfterSeconds), "cache-control": "no-store" },
  });
}
