/** The one instance that a server talks to: where tokens and records may be sent, and nowhere else. */
import { failure, type Result, success } from "../lib/result.ts";

/** An instance by its origin, such as `https://example.service-now.com`. */
export interface ServicenowInstance {
  readonly origin: string;
}

/**
 * Parses the address of an instance: https, without path, query or user name. `allowLoopbackHttp` is for tests: plain
 * http to this machine.
 */
export function parseInstance(
  text: string,
  { allowLoopbackHttp = false }: { readonly allowLoopbackHttp?: boolean } = {},
): Result<ServicenowInstance, string> {
  const url = URL.parse(text);
  const isLoopback = url !== null && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  const isAllowed = url?.protocol === "https:" || (allowLoopbackHttp && url?.protocol === "http:" && isLoopback);
  if (url === null || !isAllowed) return failure("must be an https URL, such as https://example.service-now.com");
  if (url.username !== "" || url.password !== "" || url.pathname !== "/" || /[?#]/.test(text)) {
    return failure("must have no user name, path, query or fragment");
  }
  return success({ origin: url.origin });
}

export function instanceUrl(
  { origin }: ServicenowInstance,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string {
  const url = new URL(path, origin);
  if (url.origin !== origin) throw new TypeError("A path on the instance must not lead to another host");
  url.search = new URLSearchParams(query).toString();
  return url.href;
}
