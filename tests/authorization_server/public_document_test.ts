import assert from "node:assert/strict";
import { createDocumentFetcher, createInternet, type FetchDocument } from "../../src/lib/document_fetcher.ts";
import { pause } from "../../src/lib/time.ts";
import { inTime } from "../fixtures/until.ts";
import { openTestNetwork, publicAddress, type TestNetwork } from "./test_network.ts";

const patient = { timeoutMs: 60_000 };
const url = "https://app.example.com/client.json";

async function reasonFor(web: TestNetwork, target = url, timeoutMs = patient.timeoutMs): Promise<string> {
  const fetched = await web.fetcher({ timeoutMs })(target, "asker");
  return fetched.ok ? "fetched" : fetched.error;
}

Deno.test("a document is fetched over TLS from the address that was checked", async () => {
  await using web = openTestNetwork();
  web.publish("/client.json?v=1", { a: "ü" }, { "cache-control": "public, max-age=120" });
  const fetched = await web.fetcher(patient)(`${url}?v=1`, "asker");
  assert.deepEqual(fetched, { ok: true, value: { json: { a: "ü" }, maxAgeSeconds: 120 } });
  assert.deepEqual(web.connected, [publicAddress]);
  assert.deepEqual(web.requests, ["GET /client.json?v=1 HTTP/1.1"]);
});

Deno.test("SSRF: a name that resolves to a forbidden address, alone or among others, is never connected to", async () => {
  await using web = openTestNetwork();
  web.publish("/client.json", {});
  const forbidden = [
    "127.0.0.1",
    "10.0.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "::1",
    "fe80::1",
    "fd00::1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
  ];
  for (const address of forbidden) {
    for (const addresses of [[address], [publicAddress, address], [address, publicAddress]]) {
      web.names.set("app.example.com", [addresses]);
      assert.equal(await reasonFor(web), "forbidden_address", addresses.join());
    }
  }
  assert.deepEqual(web.connected, []);
});

Deno.test("DNS rebinding: the name is resolved once, and the checked address is the one that is connected to", async () => {
  await using web = openTestNetwork();
  web.publish("/client.json", {});
  web.names.set("app.example.com", [[publicAddress], ["127.0.0.1"]]);
  assert.equal(await reasonFor(web), "fetched");
  assert.deepEqual(web.connected, [publicAddress]);
  assert.equal(await reasonFor(web), "forbidden_address");
  assert.deepEqual(web.connected, [publicAddress]);
});

Deno.test("SSRF: over the real network a listener on loopback is never connected to, whatever name leads there", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let accepted = 0;
  const accepting = (async () => {
    for await (const connection of listener) {
      accepted++;
      connection.close();
    }
  })();
  const { port } = listener.addr;
  const rebound = (address: string): FetchDocument =>
    createDocumentFetcher({ ...createInternet(), resolve: () => Promise.resolve([address]) }, () => 0, patient);
  const fetchReal = createDocumentFetcher(createInternet(), () => 0, patient);
  for (const host of ["localhost", "127.0.0.1", "[::1]", "[::ffff:7f00:1]"]) {
    assert.deepEqual(await fetchReal(`https://${host}:${port}/x`, "asker"), { ok: false, error: "forbidden_url" });
  }
  for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
    const fetched = await rebound(address)(`https://app.example.com:${port}/x`, "asker");
    assert.deepEqual(fetched, { ok: false, error: "forbidden_address" });
  }
  listener.close();
  await accepting;
  assert.equal(accepted, 0);
});

Deno.test("a redirect is not followed, since its target was not checked", async () => {
  await using web = openTestNetwork();
  for (const status of ["301", "302", "307", "308"]) {
    web.answers.set(
      "/client.json",
      (write) => write(`HTTP/1.1 ${status} X\r\nlocation: https://app.example.com/other\r\ncontent-length: 0\r\n\r\n`),
    );
    assert.equal(await reasonFor(web), "unexpected_status");
  }
  assert.ok(web.requests.every((line) => line.includes("/client.json")));
});

Deno.test("more than 5 KB is given up, declared or not, chunked or not, at once", async () => {
  await using web = openTestNetwork();
  const big = JSON.stringify({ a: "x".repeat(6_000) });
  const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
  const bodies: Record<string, string> = {
    declared: `${head}content-length: ${big.length}\r\n\r\n${big}`,
    undeclared: `${head}\r\n${big}`,
    chunked: `${head}transfer-encoding: chunked\r\n\r\n${big.length.toString(16)}\r\n${big}\r\n0\r\n\r\n`,
    "many chunks": `${head}transfer-encoding: chunked\r\n\r\n${"400\r\n" + "x".repeat(1_024) + "\r\n"}${
      ("400\r\n" + "x".repeat(1_024) + "\r\n").repeat(9)
    }0\r\n\r\n`,
  };
  for (const [name, body] of Object.entries(bodies)) {
    web.answers.set("/client.json", (write) => write(body));
    assert.equal(await reasonFor(web), "response_too_large", name);
  }
});

Deno.test("an endless body, a slow one and a silent one end at the deadline or the limit", async () => {
  await using web = openTestNetwork();
  const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
  const slowly = async (write: (text: string) => Promise<void>): Promise<void> => {
    await write(`${head}\r\n{"a":"`);
    for (;;) { // until the fetcher hangs up
      await write("x");
      await pause(50);
    }
  };
  web.answers.set("/client.json", slowly);
  assert.equal(await inTime("the end of the fetch", reasonFor(web, url, 1)), "timed_out");
  web.answers.set("/client.json", async (write) => {
    await write(`${head}transfer-encoding: chunked\r\n\r\n`);
    for (;;) await write("100\r\n" + "x".repeat(256) + "\r\n");
  });
  assert.equal(await reasonFor(web), "response_too_large");
  web.answers.set("/client.json", async (write) => {
    await write("HTTP/1.1 200 OK\r\n");
    for (;;) await write(`x-filler: ${"y".repeat(1_000)}\r\n`);
  });
  assert.match(await reasonFor(web), /malformed_response/);
});

Deno.test("a compressed body is refused unread", async () => {
  await using web = openTestNetwork();
  web.publish("/client.json", "not really gzip", { "content-encoding": "gzip" });
  assert.equal(await reasonFor(web), "unexpected_content_type");
});

Deno.test("wrong status, type and syntax have their own reasons", async () => {
  await using web = openTestNetwork();
  assert.equal(await reasonFor(web), "unexpected_status");
  web.publish("/client.json", {}, { "content-type": "text/html" });
  assert.equal(await reasonFor(web), "unexpected_content_type");
  web.publish("/client.json", "{");
  assert.equal(await reasonFor(web), "not_json");
  web.publish("/client.json", {}, { "content-type": "application/client-metadata+json; charset=utf-8" });
  assert.equal(await reasonFor(web), "fetched");
  for (
    const raw of [
      "nonsense\r\n\r\n",
      "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
    ]
  ) {
    web.answers.set("/client.json", (write) => write(raw));
    assert.equal(await reasonFor(web), "malformed_response", raw);
  }
});

Deno.test("an answer that is cut off is a lost connection, not a document that its publisher changed", async () => {
  await using web = openTestNetwork();
  const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
  const lost = [
    "",
    "HTTP/1.1 200",
    `${head}content-length: 9\r\n\r\n{}`,
    `${head}transfer-encoding: chunked\r\n\r\n9\r\n{}`,
  ];
  for (const raw of lost) {
    web.answers.set("/client.json", (write) => write(raw));
    assert.equal(await reasonFor(web), "connection_failed", raw);
  }
  web.answers.set(
    "/client.json",
    (write) => write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n{}"),
  );
  assert.equal(await reasonFor(web), "malformed_response");
});

Deno.test("headers with thousands of blanks are read, and blanks around a value do not count", async () => {
  await using web = openTestNetwork();
  const blanks = " \t".repeat(7_000);
  const head = `content-type:\t application/json \t\r\nx-filler: a${blanks}b\r\ncontent-length: 2 \r\n`;
  web.answers.set("/client.json", (write) => write(`HTTP/1.1 200 OK\r\n${head}\r\n{}`));
  assert.equal(await reasonFor(web), "fetched");
});

Deno.test("a certificate for another host, or of an unknown authority, is no connection", async () => {
  await using web = openTestNetwork();
  web.publish("/client.json", {});
  web.names.set("victim.example.com", [[publicAddress]]);
  assert.equal(await reasonFor(web, "https://victim.example.com/client.json"), "connection_failed");
  assert.equal(await reasonFor(web, "https://unknown.example.com/client.json"), "unresolvable_host");
});

Deno.test("NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment lets no other host's certificate pass", async () => {
  await using web = openTestNetwork();
  web.publish("/client.json", {});
  web.names.set("victim.example.com", [[publicAddress]]);
  const before = Deno.env.get("NODE_TLS_REJECT_UNAUTHORIZED");
  Deno.env.set("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  try {
    assert.equal(await reasonFor(web, "https://victim.example.com/client.json"), "connection_failed");
  } finally {
    if (before === undefined) Deno.env.delete("NODE_TLS_REJECT_UNAUTHORIZED");
    else Deno.env.set("NODE_TLS_REJECT_UNAUTHORIZED", before);
  }
});

Deno.test("endless interim responses, trailers and chunk extensions are given up before the deadline", async () => {
  await using web = openTestNetwork();
  const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
  const endless = (start: string, part: string) => async (write: (text: string) => Promise<void>) => {
    await write(start);
    for (;;) await write(part);
  };
  const interim = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
  web.answers.set("/interim", endless("", interim));
  web.answers.set("/trailers", endless(`${head}2\r\n{}\r\n0\r\n`, `x: ${"a".repeat(1_000)}\r\n`));
  web.answers.set("/extensions", endless(head, `1;${"e".repeat(10_000)}\r\n \r\n`));
  for (const path of ["interim", "trailers", "extensions"]) {
    assert.match(await reasonFor(web, `https://app.example.com/${path}`), /malformed_response|too_large/, path);
  }
  const ok = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
  web.answers.set("/few", (write) => write(`${interim.repeat(2)}${ok}`));
  assert.equal(await reasonFor(web, "https://app.example.com/few"), "fetched");
});
