/** Links that are tampered with, too late, or used by those who lost their access, at the started server. */
import assert from "node:assert/strict";
import { withFileServer } from "../fixtures/file_server.ts";
import { runCommand } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { ask, downloadLink, put, uploadLink } from "./links.ts";

Deno.test("a link that is tampered with is none, whatever is changed of it", () =>
  withFileServer({
    fill(root) {
      Deno.writeTextFileSync(`${root}/a.txt`, "a");
      Deno.writeTextFileSync(`${root}/b.txt`, "b");
    },
  }, async (files) => {
    const url = await downloadLink(files, "a.txt");
    const { origin, pathname } = new URL(url);
    const [, , secret = ""] = pathname.split("/");
    const flipped = (at: number): string =>
      secret.slice(0, at) + (secret[at] === "A" ? "B" : "A") + secret.slice(at + 1);
    const tampered = [
      ...Array.from({ length: secret.length }, (_, at) => `/files/${flipped(at)}/a.txt`),
      `/files/${secret}/b.txt`,
      `/files/${secret}/a.txt/b.txt`,
      `/files/${secret}/../b.txt`,
      `/files/${secret}/%2e%2e/b.txt`,
      `/files/${secret}/a.txt%00`,
      `/files/${secret}%0d%0aSet-Cookie:%20a=b/a.txt`,
      `/files/${secret}${secret}/a.txt`,
      `/files/${secret.slice(0, -1)}/a.txt`,
      `/files/${encodeURIComponent(` ${secret}`)}`,
      "/files/",
      "/files//a.txt",
      "/files/a.txt",
    ];
    for (const path of tampered) {
      const answer = await ask(origin + path);
      assert.equal(answer.status, 404, path);
      assert.equal(answer.headers.get("set-cookie"), null);
    }
    for (const query of ["?path=b.txt", "?filename=../b.txt", "#b.txt"]) {
      assert.equal((await ask(`${origin}/files/${secret}/a.txt${query}`, { method: "HEAD" })).status, 200);
    }
    assert.equal((await ask(url)).text, "a");
  }));

Deno.test("a link takes its own method alone, and OPTIONS says which there are, without using it up", () =>
  withFileServer({ fill: (root) => Deno.writeTextFileSync(`${root}/a`, "a") }, async (files) => {
    const download = await downloadLink(files, "a");
    const upload = await uploadLink(files, "b");
    for (const method of ["PUT", "POST", "DELETE", "PATCH", "PROPFIND"]) {
      const answer = await ask(download, { method });
      assert.deepEqual([answer.status, answer.headers.get("allow")], [405, "GET, HEAD, OPTIONS"], method);
    }
    for (const method of ["GET", "HEAD", "POST", "PATCH", "DELETE"]) {
      const answer = await ask(upload, { method });
      assert.deepEqual([answer.status, answer.headers.get("allow")], [405, "PUT, OPTIONS"], method);
    }
    const headers = {
      origin: "null",
      "access-control-request-method": "PUT",
      "access-control-request-headers": "range",
    };
    const preflight = await ask(upload, { method: "OPTIONS", headers });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get("access-control-allow-origin"), "*");
    assert.equal(preflight.headers.get("access-control-allow-methods"), "GET, HEAD, PUT");
    assert.equal(preflight.headers.get("access-control-allow-credentials"), null);
    assert.equal((await ask(download, { headers: { "sec-purpose": "prefetch" } })).status, 403);
    assert.equal((await ask(download, { headers: { cookie: "a=b", origin: "https://evil.example" } })).text, "a");
    assert.equal((await put(upload, "b")).status, 201);
  }));

Deno.test("a link that is too late is none, whichever way", () =>
  withFileServer({
    bounds: { transfers: { linkLifetimeMs: 50 } },
    fill: (root) => Deno.writeTextFileSync(`${root}/a`, "a"),
  }, async (files) => {
    const upload = await uploadLink(files, "b");
    const download = await downloadLink(files, "a"); // the later one
    await until("they are too late", async () => (await ask(download, { method: "HEAD" })).status === 404);
    assert.equal((await put(upload, "b")).status, 404);
    assert.throws(() => Deno.statSync(`${files.root}/b`), Deno.errors.NotFound);
  }));

Deno.test("a link that is asked for too often waits, whether it is used up or not, and no other link does", () =>
  withFileServer({
    bounds: { transfers: { requestsPerMinute: 3 } },
    fill: (root) => Deno.writeTextFileSync(`${root}/a`, "a"),
  }, async (files) => {
    const [url, other] = [await downloadLink(files, "a"), await downloadLink(files, "a")];
    const statuses: number[] = [];
    for (let count = 0; count < 3; count++) statuses.push((await ask(url, { method: "HEAD" })).status);
    const last = await ask(url);
    assert.deepEqual([...statuses, last.status], [200, 200, 200, 429]);
    assert.match(last.headers.get("retry-after") ?? "", /^\d+$/);
    assert.equal((await ask(other)).text, "a");
  }));

Deno.test("access that has ended ends the links made with it, and the transfers that run", () =>
  withFileServer({ fill: (root) => Deno.writeFileSync(`${root}/f`, new Uint8Array(100_000_000)) }, async (files) => {
    const [running, later, upload, pending] = [
      await downloadLink(files, "f"),
      await downloadLink(files, "f"),
      await uploadLink(files, "g"),
      await uploadLink(files, "h"),
    ];
    const response = await fetch(running);
    const reader = response.body?.getReader();
    await reader?.read();
    const sent = Promise.withResolvers<void>();
    const putting = put(
      upload,
      new ReadableStream({
        async start(controller) {
          controller.enqueue(new Uint8Array(1_000_000));
          await sent.promise;
          controller.close();
        },
      }),
    );
    await until("both run", () => (files.server.stderr().match(/"transfer_started"/g) ?? []).length === 2);
    await revokeAll(files.dataDir);
    sent.resolve();
    assert.deepEqual(await putting.then(({ status, text }) => [status, text]), [403, `${ended}\n`]);
    await assert.rejects(async () => {
      for (;;) if ((await reader?.read())?.done) return;
    });
    assert.deepEqual(await ask(later).then(({ status, text }) => [status, text]), [403, `${ended}\n`]);
    assert.equal((await put(pending, "h")).status, 403);
    for (const name of ["g", "h"]) assert.throws(() => Deno.statSync(`${files.root}/${name}`), Deno.errors.NotFound);
  }));

const ended = "The access with which this link was made has ended.";

async function revokeAll(dataDir: string): Promise<void> {
  const listed = await runCommand(["token", "list", "--data-dir", dataDir]);
  const ids = Array.from(listed.stdout.matchAll(/\b[0-9a-f]{32}\b/g), ([id]) => id);
  assert.ok(ids.length > 0, listed.stdout);
  for (const id of ids) {
    const revoked = await runCommand(["token", "revoke", id, "--data-dir", dataDir]);
    assert.equal(revoked.code, 0, revoked.stderr);
  }
}

Deno.test("a download that its client does not take is given up, and its place is free again", () =>
  withFileServer({
    bounds: { transfers: { stallMs: 2_000, maxAtOncePerPerson: 2 } },
    fill: (root) => Deno.writeFileSync(`${root}/f`, new Uint8Array(60_000_000)),
  }, async (files) => {
    const links = await Promise.all([1, 2, 3].map(() => downloadLink(files, "f")));
    const slow = await Promise.all(links.map((url) => fetch(url)));
    const busy = slow.filter(({ status }) => status === 503);
    assert.equal(busy.length, 1);
    assert.equal(busy[0]?.headers.get("retry-after"), "5");
    await until("both are given up", () => (files.server.stderr().match(/"outcome":"stalled"/g) ?? []).length === 2);
    const next = await fetch(await downloadLink(files, "f"));
    assert.equal(next.status, 200);
    assert.equal((await next.arrayBuffer()).byteLength, 60_000_000);
    for (const each of slow) await each.body?.cancel().catch(() => {});
  }));

const names: readonly (readonly [string, string, string])[] = [
  ["naïve file.txt", "na_ve_file.txt", "na%C3%AFve%20file.txt"],
  ["Übersicht €.pdf", "_bersicht_.pdf", "%C3%9Cbersicht%20%E2%82%AC.pdf"],
  ['a"b;c=d.html', "a_b_c_d.html", "a_b%3Bc%3Dd.html"],
  ["文書.svg", "_.svg", "%E6%96%87%E6%9B%B8.svg"],
  ["it's (1)*.txt", "it_s_1_.txt", "it%27s%20%281%29_.txt"],
  ["%0d%0aSet-Cookie a", "_0d_0aSet-Cookie_a", "%250d%250aSet-Cookie%20a"],
  [".htaccess", "_htaccess", ".htaccess"],
  ["-rf", "_rf", "-rf"],
  ["invoice\u202efdp.exe", "invoice_fdp.exe", "invoice_fdp.exe"],
  ["..a", "_a", "..a"],
];

Deno.test("names cannot break out of their header, or mislead there (RFC 6266, RFC 8187)", () =>
  withFileServer({
    fill(root) {
      for (const [name] of names) Deno.writeTextFileSync(`${root}/${name}`, name);
    },
  }, async (files) => {
    for (const [name, plain, extended] of names) {
      const url = await downloadLink(files, name);
      assert.ok(url.endsWith(`/${plain}`), url);
      const { headers, text } = await ask(url);
      assert.equal(text, name);
      assert.equal(headers.get("content-disposition"), `attachment; filename="${plain}"; filename*=UTF-8''${extended}`);
    }
  }));
