import { headerOf } from "./served_request.ts";

/** The host, with its port, that a request is addressed to; `null` where its target is no URL. */
export function requestHost(request: Request): string | null {
  // HTTP/2 names it as the authority of the URL instead (RFC 9113 §8.3.1): by https, or by plain http from a proxy that
  // knows it can. HTTP/1 without Host arrives as `localhost`, which no page can make a browser send.
  return headerOf(request, "host") ?? URL.parse(request.url)?.host ?? null;
}
