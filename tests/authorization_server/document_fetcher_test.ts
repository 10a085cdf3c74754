import assert from "node:assert/strict";
import { inTime, until } from "../fixtures/until.ts";
import { openTestNetwork, publicAddress, type TestNetwork } from "./test_network.ts";

const url = "https://app.example.com/client.json";
const other = "https://other.example.com/client.json";
/** No fetch of these tests ends by itself before the test does. */
const patient = { timeoutMs: 60_000 };

/** Paths of the test host that accept a request and say nothing until `release`. */
function hang(web: TestNetwork): { readonly release: () => void } {
  const released = Promise.withResolvers<void>();
  for (let path = 0; path < 100; path++) {
    web.answers.set(`/hang/${path}`, async (write) => {
      await released.promise;
      await write("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    });
  }
  return { release: () => released.resolve() };
}

function openWeb(): TestNetwork {
  const web = openTestNetwork();
  web.names.set("other.example.com", [[publicAddress]]);
  web.publish("/client.json", {});
  return web;
}

Deno.test("parallel fetches of one document share one connection, whoever asks", async () => {
  await using web = openWeb();
  const fetchDocument = web.fetcher();
  const same = await Promise.all(Array.from({ length: 10 }, (_, asker) => fetchDocument(url, `asker ${asker}`)));
  assert.ok(same.every(({ ok }) => ok));
  assert.equal(web.connected.length, 1);
});

Deno.test("an asker with hanging fetches takes its share and no more: another asker is answered at once", async () => {
  await using web = openWeb();
  const { release } = hang(web);
  const fetchDocument = web.fetcher(patient);
  const hanging = Array.from({ length: 8 }, (_, path) => fetchDocument(`https://app.example.com/hang/${path}`, "a"));
  await until("the share of one asker is taken", () => web.requests.length === 2);
  for (let turn = 0; turn < 12; turn++) {
    web.publish(`/${turn}.json`, {});
    const fetched = await inTime("an honest fetch", fetchDocument(`https://other.example.com/${turn}.json`, "b"));
    assert.ok(fetched.ok);
  }
  assert.equal(web.requests.filter((line) => line.includes("/hang/")).length, 2);
  release();
  await Promise.all(hanging);
});

Deno.test("a host that hangs takes its share and no more, however many ask for it", async () => {
  await using web = openWeb();
  const { release } = hang(web);
  const fetchDocument = web.fetcher(patient);
  const hanging = Array.from(
    { length: 20 },
    (_, path) => fetchDocument(`https://app.example.com/hang/${path}`, `asker ${path}`),
  );
  await until("the share of one host is taken", () => web.requests.length === 2);
  assert.ok((await inTime("an honest fetch", fetchDocument(other, "honest"))).ok);
  release();
  await Promise.all(hanging);
});

Deno.test("what is over the share of its asker is refused at once, and costs others nothing", async () => {
  await using web = openWeb();
  const { release } = hang(web);
  const fetchDocument = web.fetcher(patient);
  const hanging = [1, 2].map((path) => fetchDocument(`https://app.example.com/hang/${path}`, "a"));
  await until("the share is taken", () => web.requests.length === 2);
  assert.deepEqual(await fetchDocument(other, "a"), { ok: false, error: "too_many_fetches" });
  assert.ok((await inTime("the same document for another", fetchDocument(other, "b"))).ok);
  release();
  await Promise.all(hanging);
  assert.ok((await fetchDocument(other, "a")).ok);
});

Deno.test("a failure is the answer for seconds: of the URL where the host answered, of the host where it did not", async () => {
  await using web = openWeb();
  const fetchDocument = web.fetcher();
  const reason = async (target: string): Promise<string> => {
    const fetched = await fetchDocument(target, "asker");
    return fetched.ok ? "fetched" : fetched.error;
  };
  const missing = "https://app.example.com/missing";
  assert.equal(await reason(missing), "unexpected_status");
  web.publish("/missing", {});
  assert.equal(await reason(missing), "unexpected_status");
  assert.equal(web.requests.length, 1);
  assert.equal(await reason(url), "fetched"); // the host's other documents are not touched
  web.time.now += 10_000;
  assert.equal(await reason(missing), "fetched");

  web.publish("/client.json?another", {});
  web.dead.add(publicAddress);
  assert.equal(await reason(other), "connection_failed");
  web.dead.clear();
  assert.equal(await reason(`${other}?another`), "connection_failed");
  assert.equal(await reason(url), "fetched"); // another host at the same address is another host
  web.time.now += 10_000;
  assert.equal(await reason(`${other}?another`), "fetched");
});

Deno.test("each public address of a name is tried until one answers, and only so many", async () => {
  await using web = openWeb();
  const addresses = [1, 2, 3, 4, 5, 6].map((last) => `93.184.216.${last}`);
  web.names.set("app.example.com", [addresses]);
  for (const address of addresses.slice(0, 3)) web.dead.add(address);
  assert.ok((await web.fetcher()(url, "asker")).ok);
  assert.deepEqual(web.connected, addresses.slice(0, 4));
  web.dead.add(addresses[3] ?? "");
  web.connected.length = 0;
  assert.deepEqual(await web.fetcher()(url, "asker"), { ok: false, error: "connection_failed" });
  assert.deepEqual(web.connected, addresses.slice(0, 4));
});

Deno.test("no more than 240 fetches begin in a minute, 60 of one asker: a flood of one leaves some to others", async () => {
  await using web = openWeb();
  web.names.set("app.example.com", [[]]);
  const fetchDocument = web.fetcher();
  const reasons: string[] = [];
  const askAll = async (count: number, asker: string): Promise<void> => {
    for (let turn = 0; turn < count; turn++) {
      const fetched = await fetchDocument(`https://h${reasons.length}.example.com/data`, asker);
      reasons.push(fetched.ok ? "fetched" : fetched.error);
    }
  };
  const refused = () => reasons.filter((reason) => reason === "too_many_fetches").length;
  await askAll(1_000, "a");
  assert.equal(refused(), 940);
  for (const asker of ["b", "c", "d"]) await askAll(60, asker);
  assert.equal(refused(), 940);
  await askAll(10, "e");
  assert.equal(refused(), 950);
  web.time.now += 60_000;
  await askAll(1, "a");
  assert.equal(reasons.at(-1), "unresolvable_host");
});

for (
  const forbidden of [
    "http://app.example.com/x",
    "https://app.example.com/",
    "https://127.0.0.1/x",
    "https://[2606:4700::1111]/x",
    "https://localhost/x",
    "https://user@app.example.com/x",
    "https://a;b.example.com/x",
    "https://*.example.com/x",
    `https://app.example.com/${"data".repeat(100)}`,
    "file:///etc/passwd",
    "",
  ]
) {
  Deno.test(`the fetcher itself refuses ${JSON.stringify(forbidden.slice(0, 40))}, whoever hands it over`, async () => {
    await using web = openWeb();
    assert.deepEqual(await web.fetcher()(forbidden, "asker"), { ok: false, error: "forbidden_url" });
    assert.deepEqual(web.connected, []);
  });
}
