/** The page on which a person uploads by a link, at the started server. */
import assert from "node:assert/strict";
import { type FileServer, withFileServer } from "../fixtures/file_server.ts";
import { ask, downloadLink, put, stagedFiles, uploadLink } from "./links.ts";

const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const content = new Uint8Array(700_001).map((_, index) => index % 251);

Deno.test("a browser that opens an upload link gets a page that cannot be framed, reads no cookie and leaves the link good", () =>
  withFileServer({}, async (files) => {
    const url = await uploadLink(files, "reports/<b>März & April</b>.bin");
    for (const method of ["GET", "HEAD", "GET"]) {
      const { status, headers, text } = await ask(url, { method, headers: { ...browser, cookie: "a=b" } });
      assert.equal(status, 200);
      const policy = headers.get("content-security-policy") ?? "";
      for (
        const part of ["default-src 'none'", "form-action 'self'", "script-src 'sha256-", "frame-ancestors 'none'"]
      ) {
        assert.ok(policy.includes(part), policy);
      }
      assert.deepEqual(
        ["x-frame-options", "referrer-policy", "cache-control", "set-cookie"].map((name) => headers.get(name)),
        ["DENY", "no-referrer", "no-store", null],
      );
      if (method === "HEAD") continue;
      assert.match(text, /reports\/&lt;b&gt;März &amp; April&lt;\/b&gt;\.bin/);
      assert.match(text, /<input type="file" id="file" required>/);
      assert.doesNotMatch(text, /http:/);
      assert.ok(!text.includes(url.split("/").at(-1) ?? ""), "the page does not repeat the secret");
    }
    assert.equal((await put(url, content)).status, 201);
    assert.deepEqual(Deno.readFileSync(`${files.root}/reports/<b>März & April</b>.bin`), content);
    const again = await ask(url, { headers: browser });
    assert.match(`${again.status} ${again.text}`, /^404 This link is not valid/);
    assert.deepEqual(stagedFiles(files.root), []);
    const created = await uploadLink(files, "new", { mode: "create" });
    assert.doesNotMatch((await ask(created, { headers: browser })).text, /replaced/);
  }));

Deno.test("a download link that a browser opens gives the attachment, and says so once it is used up", () =>
  withFileServer({ fill: (root) => Deno.writeTextFileSync(`${root}/a.html`, "<p>a") }, async (files: FileServer) => {
    const url = await downloadLink(files, "a.html");
    const { headers, text } = await ask(url, { headers: browser });
    assert.match(headers.get("content-disposition") ?? "", /^attachment; filename="a\.html"/);
    assert.equal(text, "<p>a");
    const again = await ask(url, { headers: browser });
    assert.equal(again.status, 404);
    assert.match(again.text, /This link is not valid/);
    assert.equal((await put(url, "x")).status, 404);
  }));
