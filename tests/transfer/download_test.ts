/** Downloads by link, at the started server. */
import assert from "node:assert/strict";
import { withFileServer } from "../fixtures/file_server.ts";
import { until } from "../fixtures/until.ts";
import { ask, downloadLink } from "./links.ts";

const megabyte = 1_000_000;
const large = new Uint8Array(5 * megabyte).map((_, index) => index % 251);

Deno.test("a link gives the file once, as bytes that no browser shows, and the model gets none of them", () =>
  withFileServer({ fill: (root) => Deno.writeFileSync(`${root}/report.html`, large) }, async (files) => {
    const answer = await files.done("file_read", { filename: "report.html", link: true });
    assert.deepEqual(Object.keys(answer.structured).sort(), [
      "expires_at",
      "filename",
      "size_bytes",
      "untrusted",
      "url",
    ]);
    const url = String(answer.structured["url"]);
    assert.match(url, /^http:\/\/[^/]+\/files\/[\w-]{54}\/report\.html$/);
    const head = await fetch(url, { method: "HEAD" });
    assert.deepEqual([head.status, head.headers.get("content-length")], [200, String(large.length)]);
    const response = await fetch(url);
    assert.deepEqual(new Uint8Array(await response.arrayBuffer()), large);
    const expected = {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="report.html"; filename*=UTF-8''report.html`,
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store, no-transform",
      "accept-ranges": "bytes",
      "content-length": String(large.length),
      "access-control-allow-origin": "*",
    };
    for (const [name, value] of Object.entries(expected)) assert.equal(response.headers.get(name), value, name);
    assert.equal(response.headers.get("set-cookie"), null);
    assert.equal(response.headers.get("access-control-allow-credentials"), null);
    await until("the link is used up", async () => (await ask(url)).status === 404);
    const secret = url.split("/")[4] ?? "";
    assert.doesNotMatch(files.server.stderr(), new RegExp(secret.slice(0, 20)));
    const ended = new RegExp(`"event":"transfer_ended"[^\n]*"outcome":"whole","reason":"${large.length} bytes"`);
    await until("the audit has the end", () => ended.test(files.server.stderr()));
    assert.match(files.server.stderr(), /"event":"transfer_link_made"[^\n]*"what":"report.html"/);
    assert.match(files.server.stderr(), /"event":"transfer_started"/);
  }));

Deno.test("a transfer that broke goes on from where it ended, by ranges, until the client has all of it", () =>
  withFileServer({ fill: (root) => Deno.writeFileSync(`${root}/f`, large) }, async (files) => {
    const url = await downloadLink(files, "f");
    const got: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    let etag = "";
    for (let attempt = 1; size < large.length; attempt++) {
      assert.ok(attempt < 20);
      const headers: HeadersInit = etag === "" ? {} : { range: `bytes=${size}-`, "if-range": etag };
      const response = await fetch(url, { headers });
      assert.equal(response.status, etag === "" ? 200 : 206);
      etag = response.headers.get("etag") ?? "";
      const upTo = size + 1_300_000;
      for await (const piece of response.body ?? []) {
        got.push(piece);
        size += piece.length;
        if (size >= upTo) break; // which hangs up
      }
    }
    assert.deepEqual(new Uint8Array(await new Blob(got).arrayBuffer()), large);
    await until("the link is used up", async () => (await ask(url)).status === 404);
    const others: Record<string, string>[] = [
      { range: "bytes=1-" },
      { "if-range": etag },
      { range: "bytes=1-", "if-range": '"other"' },
    ];
    for (const headers of others) assert.equal((await ask(url, { headers })).status, 404);
  }));

Deno.test("a script goes on without an ETag while the file is not sent whole, as curl -C - does", () =>
  withFileServer({ fill: (root) => Deno.writeFileSync(`${root}/f`, new Uint8Array(60 * megabyte)) }, async (files) => {
    const url = await downloadLink(files, "f");
    const first = await fetch(url);
    const reader = first.body?.getReader();
    await reader?.read();
    const rest = await fetch(url, { headers: { range: "bytes=1000000-" } }); // the first is cut: one at a time
    assert.equal(rest.status, 206);
    assert.equal((await rest.arrayBuffer()).byteLength, 59 * megabyte);
    await assert.rejects(async () => {
      for (;;) if ((await reader?.read())?.done) return;
    });
    await until("the link is used up", async () => (await ask(url)).status === 404);
  }));

Deno.test("a link gives its bytes once, whatever ranges ask for, one after the other or at once", () =>
  withFileServer({ fill: (root) => Deno.writeTextFileSync(`${root}/f`, "0123456789") }, async (files) => {
    for (
      const ranges of [["bytes=0-8"], ["bytes=1-"], ["bytes=0-8", "bytes=1-"], ["bytes=0-4", "bytes=4-8", "bytes=-9"]]
    ) {
      for (const isAtOnce of [false, true]) {
        const url = await downloadLink(files, "f");
        const asked = Array.from({ length: 20 }, (_, index) => ranges[index % ranges.length] ?? "");
        const one = (range: string) => ask(url, { headers: { range } });
        const answers = isAtOnce ? await Promise.all(asked.map((range) => one(range).catch(() => null))) : [];
        if (!isAtOnce) { for (const range of asked) answers.push(await one(range)); }
        const sizes = answers.map((answer) => answer !== null && answer.status < 300 ? answer.text.length : 0);
        const sum = sizes.reduce((a, b) => a + b, 0);
        assert.ok(sum < 20, `${ranges} ${isAtOnce ? "at once " : ""}gave ${sizes}`);
      }
    }
  }));

Deno.test("the client that began a transfer may repeat a little, four times, and no other client anything", () =>
  withFileServer({ fill: (root) => Deno.writeFileSync(`${root}/f`, large) }, async (files) => {
    const url = await downloadLink(files, "f");
    assert.equal((await ask(url, { headers: { range: "bytes=99999999-" } })).headers.get("etag"), null);
    const first = await fetch(url);
    const etag = first.headers.get("etag") ?? "";
    await first.arrayBuffer();
    const statuses: number[] = [];
    for (let index = 0; index < 20; index++) {
      for (
        const headers of [{ range: "bytes=1-" }, { range: "bytes=1-", "if-range": '"other"' }, { "if-range": etag }]
      ) {
        assert.equal((await ask(url, { headers })).status, 404);
      }
      assert.equal((await ask(url, { headers: { range: "bytes=0-", "if-range": etag } })).status, 404, "all of it");
      statuses.push((await ask(url, { headers: { range: "bytes=4999990-", "if-range": etag } })).status);
    }
    assert.deepEqual(statuses.filter((status) => status === 206).length, 4);
    assert.deepEqual(statuses.slice(0, 4), [206, 206, 206, 206]);
  }));

Deno.test("of a large file nothing is sent again but what may be lost on the way", () =>
  withFileServer({ fill: (root) => Deno.writeFileSync(`${root}/f`, new Uint8Array(30 * megabyte)) }, async (files) => {
    const url = await downloadLink(files, "f");
    const first = await fetch(url);
    const headers = { "if-range": first.headers.get("etag") ?? "" };
    await first.arrayBuffer();
    for (const [from, status] of [[1, 404], [15 * megabyte, 404], [25 * megabyte, 206]] as const) {
      const answer = await fetch(url, { headers: { ...headers, range: `bytes=${from}-` } });
      await answer.arrayBuffer();
      assert.equal(answer.status, status, `from ${from}`);
    }
  }));

Deno.test("a download that has begun goes on after its link's time, and a link that was not used does not", () =>
  withFileServer({
    bounds: { transfers: { linkLifetimeMs: 2_000, requestsPerMinute: 10_000 } },
    fill: (root) => Deno.writeFileSync(`${root}/f`, large),
  }, async (files) => {
    const [begun, unused] = [await downloadLink(files, "f"), await downloadLink(files, "f")];
    assert.equal((await ask(begun, { headers: { range: "bytes=0-99" } })).status, 206);
    await until("the other is too late", async () => (await ask(unused, { method: "HEAD" })).status === 404);
    const rest = await fetch(begun, { headers: { range: "bytes=100-" } });
    assert.equal((await rest.arrayBuffer()).byteLength, large.length - 100);
    await until("it is used up", async () => (await ask(begun)).status === 404);
  }));

Deno.test("ranges as RFC 9110 §14 has them; what is not a range of one part gets the whole file", () =>
  withFileServer({ fill: (root) => Deno.writeTextFileSync(`${root}/f`, "0123456789") }, async (files) => {
    const rows: readonly (readonly [string, number, string])[] = [
      ["bytes=0-0", 206, "0"],
      ["bytes=2-4", 206, "234"],
      ["bytes=7-", 206, "789"],
      ["bytes=-3", 206, "789"],
      ["bytes=-30", 206, "0123456789"],
      ["bytes=5-500", 206, "56789"],
      ["BYTES=1-1", 206, "1"],
      ["bytes=10-", 416, "The file has 10 bytes.\n"],
      ["bytes=-0", 416, "The file has 10 bytes.\n"],
      ["bytes=4-2", 200, "0123456789"],
      ["bytes=0-1,3-4", 200, "0123456789"],
      ["bytes=a-b", 200, "0123456789"],
      ["bytes=-", 200, "0123456789"],
      ["items=0-1", 200, "0123456789"],
      [`bytes=${"9".repeat(40)}-`, 200, "0123456789"],
    ];
    for (const [range, status, text] of rows) {
      const url = await downloadLink(files, "f");
      const answer = await ask(url, { headers: { range } });
      assert.deepEqual([answer.status, answer.text], [status, text], range);
      if (status === 416) assert.equal(answer.headers.get("content-range"), "bytes */10");
    }
    const url = await downloadLink(files, "f");
    const { headers } = await ask(url, { method: "HEAD", headers: { range: "bytes=2-4" } });
    assert.equal(headers.get("content-length"), "10");
    assert.equal(headers.get("etag"), null);
    const etag = (await ask(url, { headers: { range: "bytes=0-0" } })).headers.get("etag") ?? "";
    const same = await ask(url, { headers: { range: "bytes=2-4", "if-range": etag } });
    assert.deepEqual([same.status, same.text], [206, "234"]);
    const anew = await downloadLink(files, "f");
    const other = await ask(anew, { headers: { range: "bytes=2-4", "if-range": '"other"' } });
    assert.deepEqual([other.status, other.text], [200, "0123456789"]);
  }));

Deno.test("an empty file arrives whole", () =>
  withFileServer({ fill: (root) => Deno.writeTextFileSync(`${root}/f`, "") }, async (files) => {
    const url = await downloadLink(files, "f");
    const answer = await ask(url);
    assert.deepEqual([answer.status, answer.text, answer.headers.get("content-length")], [200, "", "0"]);
    await until("the link is used up", async () => (await ask(url)).status === 404);
  }));

Deno.test("a file that changes ends its link: before the transfer in words, within it by breaking off", () =>
  withFileServer({ fill: (root) => Deno.writeFileSync(`${root}/f`, large) }, async (files) => {
    const before = await downloadLink(files, "f");
    await files.done("file_write", { filename: "f", content: "other" });
    assert.deepEqual((await ask(before)).text, "The file has changed since this link was made. Ask for a new one.\n");
    assert.equal((await ask(before)).status, 409);
    const huge = new Uint8Array(100 * megabyte);
    Deno.writeFileSync(`${files.root}/f`, huge);
    const within = await downloadLink(files, "f");
    const response = await fetch(within);
    const reader = response.body?.getReader();
    await reader?.read();
    await files.done("file_write", { filename: "f", content: "other again" });
    await assert.rejects(async () => {
      for (;;) if ((await reader?.read())?.done) return;
    });
    await until("the audit says so", () => /"outcome":"changed"/.test(files.server.stderr()));
  }));
