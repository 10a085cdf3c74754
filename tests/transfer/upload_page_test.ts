/** The page on which a person uploads by a link, at the started server. */
import assert from "node:assert/strict";
import { type FileServer, withFileServer } from "../fixtures/file_server.ts";
import { until } from "../fixtures/until.ts";
import { ask, downloadLink, put, stagedFiles, uploadLink } from "./links.ts";

const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const content = new Uint8Array(700_001).map((_, index) => index % 251);

async function postForm(url: string, form: FormData): Promise<Awaited<ReturnType<typeof ask>>> {
  return await ask(url, { method: "POST", body: form, headers: browser });
}

function formWith(bytes: BlobPart, name = "any.bin", field = "file"): FormData {
  const form = new FormData();
  form.append(field, new Blob([bytes]), name);
  return form;
}

async function postRaw(url: string, body: string | Uint8Array<ArrayBuffer>, boundary = "b"): Promise<number> {
  const headers = { ...browser, "content-type": `multipart/form-data; boundary=${boundary}` };
  return (await ask(url, { method: "POST", body, headers })).status;
}

Deno.test("a browser that opens an upload link gets a page that cannot be framed, reads no cookie and leaves the link good", () =>
  withFileServer({}, async (files) => {
    const url = await uploadLink(files, "reports/<b>März & April</b>.bin");
    for (const method of ["GET", "HEAD", "GET"]) {
      const { status, headers, text } = await ask(url, { method, headers: { ...browser, cookie: "a=b" } });
      assert.equal(status, 200);
      const policy = headers.get("content-security-policy") ?? "";
      for (const part of ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) {
        assert.ok(policy.includes(part), policy);
      }
      assert.deepEqual(
        ["x-frame-options", "referrer-policy", "cache-control", "set-cookie"].map((name) => headers.get(name)),
        ["DENY", "no-referrer", "no-store", null],
      );
      if (method === "HEAD") continue;
      assert.match(text, /reports\/&lt;b&gt;März &amp; April&lt;\/b&gt;\.bin/);
      assert.match(text, /<input type="file" id="file" name="file" required>/);
      assert.doesNotMatch(text, /<script|http:/);
      assert.ok(!text.includes(url.split("/").at(-1) ?? ""), "the page does not repeat the secret");
    }
    const answer = await postForm(url, formWith(content));
    assert.equal(answer.status, 201);
    assert.match(answer.text, /The file has arrived/);
    assert.match(answer.text, /700,001 bytes/);
    assert.deepEqual(Deno.readFileSync(`${files.root}/reports/<b>März & April</b>.bin`), content);
    assert.equal(answer.headers.get("access-control-allow-origin"), null);
    const again = await postForm(url, formWith("again"));
    assert.deepEqual([again.status, /text\/html/.test(again.headers.get("content-type") ?? "")], [404, true]);
    assert.match((await ask(url, { headers: browser })).text, /This link cannot be used/);
  }));

Deno.test("the page's form brings what its file has, whatever that looks like, and nothing else is taken for a file", () =>
  withFileServer({}, async (files) => {
    const tricky = ["", "\r\n", "--", "\r\n--", "\r\n\r\n--x\r\n", "a\r\n-", "\r\n--b-", "\u0000".repeat(300_000)];
    for (const text of tricky) {
      const answer = await postForm(await uploadLink(files, "f"), formWith(text, '"; filename="x.html'));
      assert.match(answer.text, /has arrived/, JSON.stringify(text).slice(0, 40));
      assert.equal(Deno.readTextFileSync(`${files.root}/f`), text);
    }
    const url = await uploadLink(files, "f");
    const head = 'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
    const refused: readonly string[] = [
      "",
      "x",
      "--b--\r\n",
      "--b\r\n",
      `--b\r\n${head}`,
      `--b\r\n${head}no end`,
      `--b\r\n${head}no end\r\n--`,
      `--other\r\n${head}x\r\n--other--`,
      '--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nno file\r\n--b--',
      '--b\r\nContent-Disposition: form-data; name="other"; filename="a"\r\n\r\nx\r\n--b--',
      '--b\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\n\r\n--b--',
      `--b\r\n${"X: y\r\n".repeat(10_000)}${head}x\r\n--b--`,
      `${"preamble".repeat(10_000)}\r\n--b\r\n${head}x\r\n--b--`,
      `--b\r\n${head}x\r\n--b--${"epilogue".repeat(100_000)}`,
    ];
    for (const body of refused) assert.equal(await postRaw(url, body), 400, JSON.stringify(body).slice(0, 80));
    for (const boundary of ["", '""', "x".repeat(71)]) {
      assert.equal(await postRaw(url, `--b\r\n${head}x\r\n--b--`, boundary), 415, boundary);
    }
    assert.deepEqual(stagedFiles(files.root), []);
    assert.equal(await postRaw(url, `preamble\r\n--b\r\nX: y\r\n${head}whole\r\n--b\r\nmore\r\n--b--`), 200);
    assert.equal(Deno.readTextFileSync(`${files.root}/f`), "whole");
  }));

Deno.test("what the page's form may not bring is said on the page, with the form where another try can succeed", () =>
  withFileServer({ env: { WORKSPACE_QUOTA_BYTES: "500000", WORKSPACE_DENY: "secret" } }, async (files) => {
    const url = await uploadLink(files, "f");
    const tooLarge = await postForm(url, formWith(new Uint8Array(600_000)));
    assert.match(`${tooLarge.status} ${tooLarge.text}`, /^413 [^]*role="alert"[^]*at most 500000 bytes[^]*<form/);
    const noFile = await postForm(url, formWith("", ""));
    assert.match(`${noFile.status} ${noFile.text}`, /^400 [^]*Choose a file first\.[^]*<form/);
    await files.done("file_write", { filename: "g", content: "x".repeat(300_000) });
    const full = await postForm(url, formWith(new Uint8Array(300_000)));
    assert.match(`${full.status} ${full.text}`, /^507 [^]*<form/);
    assert.equal((await postForm(url, formWith("fits"))).status, 201);
    const created = await uploadLink(files, "new", { mode: "create" });
    assert.doesNotMatch((await ask(created, { headers: browser })).text, /replaced/);
    await files.done("file_write", { filename: "new", content: "meanwhile" });
    const there = await postForm(created, formWith("x"));
    assert.equal(there.status, 409);
    assert.match(there.text, /something of this name already/);
    const bare = await ask(url.replace(/.$/, (last) => last === "A" ? "B" : "A"), { headers: browser });
    assert.match(`${bare.status} ${bare.text}`, /^404 [^]*cannot be used/);
    assert.deepEqual(stagedFiles(files.root), []);
  }));

Deno.test("a download link that a browser opens gives the attachment, and a page once it is used up", () =>
  withFileServer({ fill: (root) => Deno.writeTextFileSync(`${root}/a.html`, "<p>a") }, async (files: FileServer) => {
    const url = await downloadLink(files, "a.html");
    const { headers, text } = await ask(url, { headers: browser });
    assert.match(headers.get("content-disposition") ?? "", /^attachment; filename="a\.html"/);
    assert.equal(text, "<p>a");
    // A server notes that all was sent after it has sent it.
    const again = await until("the link is used up", async () => {
      const answer = await ask(url, { headers: browser });
      return answer.status === 404 && answer;
    });
    assert.match(again.text, /This link cannot be used/);
    assert.equal((await put(url, "x")).status, 404);
  }));
