/**
 * What a modern call carries from one round of questions to the next: the answers so far, sealed and bound to the
 * principal, the request and an expiry. It comes back from the client, so it is attacker input (MRTR, server
 * requirements 4 and 5). It may be presented again until it expires: it holds nothing but the caller's own answers.
 */
import * as z from "zod";
import { createDigest } from "../lib/content_digest.ts";
import type { Clock } from "../lib/clock.ts";
import type { Principal } from "../lib/principal.ts";
import type { SecretBox } from "../lib/secret_box.ts";
import { isObject } from "../lib/json.ts";
import type { RpcCall } from "./jsonrpc.ts";

interface RequestStateOptions {
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly requestStateLifetimeMs: number;
}

const purpose = "mcp-request-state";
const shape = z.lazy(() => z.object({ expiresAt: z.number(), answers: z.record(z.string(), z.unknown()) }));

/** Seals the answers given so far. */
export function sealRequestState(
  options: RequestStateOptions,
  call: RpcCall,
  principal: Principal,
  answers: Readonly<Record<string, unknown>>,
): Promise<string> {
  const expiresAt = options.clock() + options.requestStateLifetimeMs;
  return options.secretBox.seal(purpose, JSON.stringify({ expiresAt, answers }), contextOf(call, principal));
}

/** The answers out of a state; `null` when it is altered, expired, someone else's or another request's. */
export async function openRequestState(
  options: RequestStateOptions,
  call: RpcCall,
  principal: Principal,
  state: string,
): Promise<Readonly<Record<string, unknown>> | null> {
  const text = await options.secretBox.open(purpose, state, contextOf(call, principal));
  if (text === null) return null;
  const { expiresAt, answers } = shape.parse(JSON.parse(text));
  return expiresAt > options.clock() ? answers : null;
}

/** What the state is bound to: who asks, and for what. */
function contextOf({ method, params }: RpcCall, { subject, clientId }: Principal): string {
  const { name, uri, arguments: input } = isObject(params) ? params : {};
  const digest = createDigest().update(JSON.stringify([method, name ?? uri, sorted(input ?? {})]));
  const request = digest.digest("base64url");
  return JSON.stringify([subject, clientId, request]);
}

/** The same value with the keys of its objects in order: a client may write them in another one when it retries. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}
