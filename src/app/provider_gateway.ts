/**
 * The main thread's way to the company's provider, for a server whose worker may connect to no host that its
 * configuration does not name: the provider's metadata says where its endpoints are. It reaches the issuer's origin, and
 * those that the issuer's own metadata names, and no other.
 */
import { isObject, parseJson } from "../lib/json.ts";
import { readBounded } from "../lib/request_text.ts";
import { isSafeUrl } from "../lib/settings.ts";

/** A request to the provider, as it comes from the worker. */
export interface ProviderQuestion {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Posted where there is one. */
  readonly body: string | null;
}

/** `null` where there is none: refused, unreachable, too slow or too large. */
export type ProviderReply = { readonly status: number; readonly bytes: Uint8Array<ArrayBuffer> } | null;

/** A little more than `maxAnswerBytes` of the provider's reader, which then says that an answer is too large. */
const maxReplyBytes = 1_100_000;
const requestMs = 10_000;
const maxAtOnce = 20;

/** Makes the way to one issuer. */
export function createProviderGateway(issuer: string): (question: ProviderQuestion) => Promise<ProviderReply> {
  const origins = new Set([new URL(issuer).origin]);
  const metadataUrl = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  // One connection a request: Deno repeats a request by itself where a kept one breaks, and a code works once.
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  let running = 0;
  return async (question) => {
    if (running >= maxAtOnce) return null;
    running += 1;
    try {
      const { url, headers, body } = question; // a broken tool may send anything
      if (!origins.has(new URL(url).origin)) return null;
      const response = await fetch(url, {
        ...body === null ? {} : { method: "POST", body },
        headers,
        redirect: "manual",
        signal: AbortSignal.timeout(requestMs),
        client,
      });
      const bytes = await readBounded(response, maxReplyBytes) ?? new Uint8Array(maxReplyBytes);
      if (url === metadataUrl && response.status === 200) {
        for (const origin of originsIn(parseJson(new TextDecoder().decode(bytes)), issuer)) origins.add(origin);
      }
      return { status: response.status, bytes };
    } catch {
      return null;
    } finally {
      running -= 1;
    }
  };
}

const endpoints = ["token_endpoint", "jwks_uri", "userinfo_endpoint"];

/** Where the issuer's endpoints are. They are as many as the names above, however often the metadata changes. */
function originsIn(metadata: unknown, issuer: string): readonly string[] {
  if (!isObject(metadata) || metadata["issuer"] !== issuer) return [];
  return endpoints.flatMap((name) => {
    const url = URL.parse(String(metadata[name]));
    return url !== null && isSafeUrl(url) ? [url.origin] : [];
  });
}
