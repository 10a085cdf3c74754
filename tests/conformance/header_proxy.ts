/** A reverse proxy that adds one header and keeps all others: the conformance suite itself cannot send a token. */

/** A running proxy. */
export interface HeaderProxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Puts `headers` onto every request to `target`, which also gets the Host and Origin that the proxy got. */
export function startHeaderProxy(
  target: (request: Request, address: string) => Promise<Response>,
  headers: Readonly<Record<string, string>>,
): HeaderProxy {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request, info) => {
    const all = new Headers(request.headers);
    for (const [name, value] of Object.entries(headers)) all.set(name, value);
    return target(new Request(request, { headers: all }), info.remoteAddr.hostname);
  });
  return { url: `http://127.0.0.1:${server.addr.port}/mcp`, close: () => server.shutdown() };
}
