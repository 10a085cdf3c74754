/** What proxies wrote about the way of a request: the addresses that it came through, the client's end first. */

/** Addresses in the order in which they were added; what a proxy wrote instead of an address is an empty text. */
export type ForwardedFor = readonly string[];

/** `X-Forwarded-For`: a list that each proxy appends to, with or without ports. */
export function parseXForwardedFor(value: string): ForwardedFor {
  return value.split(",").map((item) => withoutPort(item.trim()));
}

/** RFC 7230 §3.2.6: a token, or a quoted string with its escapes. */
const pair = /[ \t]*([!#$%&'*+\-.^_`|~\w]+)=(?:([!#$%&'*+\-.^_`|~\w:[\]]+)|"((?:[^"\\]|\\.)*)")[ \t]*/y;

/**
 * `Forwarded` (RFC 7239 §4). A value that breaks the grammar says nothing at all: a client that opens a quotation which
 * a proxy's addition then closes would otherwise speak for the proxy.
 */
export function parseForwarded(value: string): ForwardedFor | null {
  const addresses: string[] = [];
  let address = "";
  let at = 0;
  for (;;) {
    pair.lastIndex = at;
    const found = pair.exec(value);
    if (found === null) return null;
    const [whole, name = "", token, quoted = ""] = found;
    if (name.toLowerCase() === "for") address = withoutPort(token ?? quoted.replace(/\\(.)/g, "$1"));
    at += whole.length;
    const sign = value[at++];
    if (sign === ";") continue;
    if (sign !== "," && sign !== undefined) return null;
    addresses.push(address);
    address = "";
    if (sign === undefined) return addresses;
  }
}

/** RFC 7239 §6: `192.0.2.43:47011`, `[2001:db8::1]:4711`; IPv6 without brackets has no port. */
function withoutPort(node: string): string {
  const bracketed = /^\[([^\]]*)\](?::\w+)?$/.exec(node)?.[1];
  if (bracketed !== undefined) return bracketed;
  return /^([\d.]+):\d+$/.exec(node)?.[1] ?? (/^[\da-f.:]+(%[\w.-]+)?$/i.test(node) ? node : "");
}
