/** The host, with its port, that a request is addressed to; `null` when it does not say. */
export function requestHost(request: Request): string | null {
  const host = request.headers.get("host");
  // HTTP/2, which only https negotiates, names it as the authority of the URL instead (RFC 9113 §8.3.1).
  return host === null && request.url.startsWith("https:") ? new URL(request.url).host : host;
}
