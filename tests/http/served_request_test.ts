import assert from "node:assert/strict";
import { bytesAtHand, headerOf, keepHeaders, readsDirectly } from "../../src/lib/request_text.ts";

const names = [
  "host",
  "authorization",
  "content-type",
  "content-length",
  "accept",
  "mcp-name",
  "x-b",
  "cookie",
  "absent",
];

const heads: readonly (readonly string[])[] = [
  ["Host: one.example", "Content-Type: application/json"],
  ["HOST: one.example", "AUTHORIZATION: Bearer abc", "accept:\t a , b \t"],
  ["Host: one.example", "Authorization: Bearer a", "Authorization: Bearer b", "Accept: x", "accept: y", "ACCEPT:"],
  ["Host: one.example", "X-B:", "Mcp-Name: \u00e4\u00ff", "X-B: ,", "Cookie: a=1", "Cookie: b=2"],
  ["Host: one.example:80", "Mcp-Name: =?base64?4pyT?=", "Content-Type: application/json ; charset=utf-8"],
];

/** The module as a server has it that no request has reached yet, whichever test runs first. */
async function freshly(): Promise<typeof import("../../src/lib/request_text.ts")> {
  return await import(`../../src/lib/request_text.ts?${crypto.randomUUID()}`);
}

/** Sends a request, what is further of it once `further` gives it, and gives all of the answer. */
async function exchange(port: number, start: string, further?: Promise<string>): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const send = (text: string) => connection.write(Uint8Array.from(text, (sign) => sign.charCodeAt(0)));
  await send(start);
  if (further !== undefined) await send(await further);
  return await new Response(connection.readable).text();
}

/** A server that answers with what `look` finds; errors are answers too. */
async function serving(look: (request: Request) => unknown, use: (port: number) => Promise<void>): Promise<void> {
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const found = await Promise.resolve(request).then(look).catch((error) => ({ error: String(error) }));
    return Response.json(found, { headers: { connection: "close" } });
  });
  await use(server.addr.port);
}

function found(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
}

Deno.test("a first request without headers, such as a probe's, leaves the direct way to those that follow", async () => {
  const { readsDirectly } = await freshly();
  await serving((request) => readsDirectly(request), async (port) => {
    assert.equal(found(await exchange(port, "GET / HTTP/1.0\r\n\r\n")), false);
    const head = heads[0]?.join("\r\n") ?? "";
    assert.equal(found(await exchange(port, `GET / HTTP/1.1\r\n${head}\r\nConnection: close\r\n\r\n`)), true);
  });
});

Deno.test("headerOf() gives what the request's headers give, whatever a client sends", async () => {
  const look = (request: Request): unknown => {
    const isDirect = readsDirectly(request);
    const direct = names.map((name) => headerOf(request, name));
    return { isDirect, direct, standard: names.map((name) => request.headers.get(name)) };
  };
  await serving(look, async (port) => {
    for (const head of heads) {
      const answer = await exchange(port, `POST /mcp HTTP/1.1\r\n${head.join("\r\n")}\r\nConnection: close\r\n\r\n`);
      const { isDirect, direct, standard } = found(answer) as Record<string, unknown>;
      assert.deepEqual(direct, standard);
      assert.equal(isDirect, true, "this Deno's requests are read directly");
    }
  });
});

Deno.test("bytesAtHand() gives the whole body or nothing, and leaves what it does not give to bytes()", async () => {
  const looks: (() => void)[] = [];
  const look = async (request: Request): Promise<unknown> => {
    const bytes = bytesAtHand(request);
    const isUsed = request.bodyUsed;
    looks.shift()?.();
    return { atHand: bytes !== null, isUsed, text: new TextDecoder().decode(bytes ?? await request.bytes()) };
  };
  const head = "POST /mcp HTTP/1.1\r\nHost: one.example\r\nConnection: close\r\n";
  const onceLooked = (text: string) => new Promise<string>((resolve) => looks.push(() => resolve(text)));
  await serving(look, async (port) => {
    const text = "12345678";
    const whole = found(await exchange(port, `${head}Content-Length: 8\r\n\r\n${text}`));
    assert.deepEqual(whole, { atHand: true, isUsed: true, text });
    const later = found(await exchange(port, `${head}Content-Length: 8\r\n\r\n1234`, onceLooked("5678")));
    assert.deepEqual(later, { atHand: false, isUsed: false, text });
    const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n`;
    const inChunks = found(await exchange(port, chunked, onceLooked("4\r\n5678\r\n0\r\n\r\n"))) as { text: string };
    assert.equal(inChunks.text, text);
    const empty = found(await exchange(port, `${head}Content-Length: 0\r\n\r\n`)) as { text: string };
    assert.equal(empty.text, "");
  });
});

Deno.test("of a request that has been answered, a header that was kept is there, and no body", async () => {
  const asked = Promise.withResolvers<readonly unknown[]>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request, info) => {
    keepHeaders(request);
    void info.completed.then(() => asked.resolve([headerOf(request, "x-b"), bytesAtHand(request)])).catch(asked.reject);
    return new Response("", { headers: { connection: "close" } });
  });
  await exchange(
    server.addr.port,
    "POST / HTTP/1.1\r\nHost: one.example\r\nX-B: still here\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
  );
  const value = await asked.promise.catch((error) => error);
  await server.shutdown();
  assert.deepEqual(value, ["still here", null]);
});

Deno.test("a request that no server received is read the standard way", async () => {
  const request = new Request("http://one.example/", { method: "POST", body: "text", headers: { "x-b": "c" } });
  assert.equal(readsDirectly(request), false);
  assert.equal(headerOf(request, "x-b"), "c");
  assert.equal(bytesAtHand(request), null);
  assert.equal(await request.text(), "text");
});
