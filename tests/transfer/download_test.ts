/** Downloads by link, at the started server. */
import assert from "node:assert/strict";
import { withFileServer } from "../fixtures/file_server.ts";
import { until } from "../fixtures/until.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import { withWorkspace } from "../tools/with_workspace.ts";
import { principalOf } from "../workspace/call_tool.ts";
import { at } from "../workspace/contract.ts";
import { ask, downloadLink, transfersOf } from "./links.ts";

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

Deno.test("a link gives its bytes once, whatever ranges ask for, one after the other or at once", () =>
  withFileServer({ fill: (root) => Deno.writeTextFileSync(`${root}/f`, "0123456789") }, async (files) => {
    for (const isAtOnce of [false, true]) {
      const url = await downloadLink(files, "f");
      const asked = Array.from({ length: 20 }, (_, index) => `bytes=${index % 5}-`);
      const one = (range: string) => ask(url, { headers: { range } });
      const answers = isAtOnce ? await Promise.all(asked.map(one)) : [];
      if (!isAtOnce) { for (const range of asked) answers.push(await one(range)); }
      const given = answers.filter(({ status }) => status < 300);
      assert.deepEqual(given.map(({ status, text }) => [status, text]), [[200, "0123456789"]]);
    }
  }));

Deno.test("a download that its client breaks off has used the link up", () =>
  withFileServer({ fill: (root) => Deno.writeFileSync(`${root}/f`, large) }, async (files) => {
    const url = await downloadLink(files, "f");
    const response = await fetch(url);
    await response.body?.cancel();
    assert.equal((await ask(url)).status, 404);
    await until("the audit says so", () => /"outcome":"hung_up"/.test(files.server.stderr()));
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

Deno.test("a download that a lost workspace ends makes room for the next", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/f`, "words");
    const lost = (): Promise<never> => Promise.reject(new Error("lost"));
    const failing: Workspace = new Proxy(workspace, {
      get: (target, name) =>
        name === "begin"
          ? () => failing
          : name === "read"
          ? (...given: Parameters<Workspace["read"]>) => given[1]?.lengthBytes === 0 ? target.read(...given) : lost()
          : Reflect.get(target, name),
    });
    const { endpoint, links } = transfersOf(createMemoryStorage(), failing);
    const peer = { address: "192.0.2.1", answerSent: Promise.resolve() };
    for (let time = 0; time < 20; time++) {
      const link = await links.forDownload(principalOf("ada"), at("f"));
      assert.ok(link.ok);
      const response = await endpoint(new Request(link.value.url), peer);
      assert.equal(response.status, 200, `download ${time}`);
      await assert.rejects(response.text());
    }
  }));
