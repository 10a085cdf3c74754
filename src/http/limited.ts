/** Rate limits by address around the endpoints that anyone can reach without a token. */
import type { Endpoint } from "../lib/endpoint.ts";
import { addressKey } from "../lib/address_key.ts";
import { declaredLength } from "../lib/request_text.ts";
import { type BodyIntake, intakeRetrySeconds, requestBytes } from "./body_intake.ts";
import type { RateLimiter } from "./rate_limit.ts";

const successCost = 0.1;

interface AttemptOptions {
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
    const response = await orGiveBack(limiter, key, successCost, () => endpoint(request, peer));
    if (response.status >= 400 && response.status < 500) limiter.charge(key, 1 - successCost);
    return response;
  };
}

/** Guards an endpoint by plain count, whatever it answers. `onRefused` as above. */
export function limitRequests(limiter: RateLimiter, endpoint: Endpoint, onRefused: () => void = () => {}): Endpoint {
  return async (request, peer) => {
    const key = addressKey(peer.address);
    const admission = await limiter.take(key);
    if (admission.ok) return await orGiveBack(limiter, key, 1, () => endpoint(request, peer));
    onRefused();
    return tooManyRequests(admission.retryAfterSeconds);
  };
}

/**
 * Admits requests with bodies by their declared size, or by `maxBytes` without one, and holds the share of their
 * address until they are answered.
 */
export function limitBodies(intake: BodyIntake, maxBytes: number, endpoint: Endpoint): Endpoint {
  return async (request, peer) => {
    if (request.method === "GET" || request.method === "HEAD") return await endpoint(request, peer);
    const caller = addressKey(peer.address);
    const bytes = requestBytes + Math.min(declaredLength(request) ?? maxBytes, maxBytes);
    if (intake.admit(caller, bytes) !== "admitted") return unavailable();
    try {
      const response = await endpoint(request, peer);
      // A body that our own stop cut off looks malformed.
      return intake.isAbandoned && response.status === 400 ? unavailable() : response;
    } finally {
      intake.arrived();
      intake.release(caller, bytes);
    }
  };
}

function unavailable(): Response {
  const description = `The server is busy or stopping; try again in ${intakeRetrySeconds} seconds`;
  return Response.json({ error: "temporarily_unavailable", error_description: description }, {
    status: 503,
    headers: { "retry-after": String(intakeRetrySeconds), "cache-control": "no-store", connection: "close" },
  });
}

/** What we fail ourselves, as while the database is away, costs the caller nothing. */
async function orGiveBack(
  limiter: RateLimiter,
  key: string,
  cost: number,
  answer: () => Response | Promise<Response>,
): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    limiter.charge(key, -cost);
    throw error;
  }
}

/** RFC 6585 §4. The body is an OAuth error (RFC 6749 §5.2 allows further codes), since most callers parse one. */
function tooManyRequests(retryAfterSeconds: number): Response {
  const description = `Too many requests from this address; try again in ${retryAfterSeconds} seconds`;
  return Response.json({ error: "temporarily_unavailable", error_description: description }, {
    status: 429,
    headers: { "retry-after": String(retryAfterSeconds), "cache-control": "no-store" },
  });
}
