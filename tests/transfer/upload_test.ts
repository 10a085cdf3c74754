/** Uploads by link, at the started server. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type FileServer, withFileServer } from "../fixtures/file_server.ts";
import { until } from "../fixtures/until.ts";
import { ask, put, stagedFiles, uploadLink } from "./links.ts";

const megabyte = 1_000_000;
const large = new Uint8Array(5 * megabyte).map((_, index) => index % 251);
const sha256 = createHash("sha256").update(large).digest("hex");

/** The bytes in chunks, without a length known before. */
function chunked(bytes: Uint8Array<ArrayBuffer>, chunk: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let offset = 0;
  return new ReadableStream({
    pull(controller) {
      if (offset >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(offset, offset += chunk));
    },
  });
}

Deno.test("a link takes one file, larger than a call may write, with a length or in chunks", () =>
  withFileServer({}, async (files) => {
    for (const [name, body] of [["in/a.bin", large], ["in/b.bin", chunked(large, 70_001)]] as const) {
      const url = await uploadLink(files, name);
      assert.match(url, /^http:\/\/[^/]+\/files\/[\w-]{54}$/);
      const answer = await put(url, body);
      assert.equal(answer.status, 201);
      assert.deepEqual(JSON.parse(answer.text), { size_bytes: large.length, sha256, created: true });
      assert.deepEqual(Deno.readFileSync(`${files.root}/${name}`), large);
      assert.equal((await put(url, "again")).status, 404);
      assert.deepEqual(Deno.readFileSync(`${files.root}/${name}`), large);
    }
    const empty = await put(await uploadLink(files, "in/a.bin"), "");
    assert.deepEqual([empty.status, JSON.parse(empty.text).size_bytes], [200, 0]);
    await until(
      "the audit has it",
      () =>
        new RegExp(`"transfer_ended"[^\n]*"direction":"upload"[^\n]*"whole","reason":"${large.length} bytes"`).test(
          files.server.stderr(),
        ),
    );
    assert.deepEqual(stagedFiles(files.root), []);
  }));

Deno.test("an upload says which names of what it replaced keep the old text, and one that has no others does not", () =>
  withFileServer({
    fill: (root) => {
      for (const name of ["f", "alone"]) Deno.writeTextFileSync(`${root}/${name}`, "old");
      for (const name of ["g", "h"]) Deno.linkSync(`${root}/f`, `${root}/${name}`);
    },
  }, async (files) => {
    const said = async (path: string) => JSON.parse((await put(await uploadLink(files, path), "new")).text);
    assert.equal((await said("f")).note, "its 2 other names (hard links) keep the old text");
    assert.match((await files.done("file_read", { filename: "g" })).text, /^old\n/);
    for (const path of ["alone", "made"]) {
      assert.deepEqual(Object.keys(await said(path)), ["size_bytes", "sha256", "created"]);
    }
  }));

Deno.test("the rules of file_write hold for uploads: create, if_version, protected names, directories", () =>
  withFileServer({
    env: { WORKSPACE_DENY: "secret" },
    fill: (root) => {
      for (const name of ["folder", ".git"]) Deno.mkdirSync(`${root}/${name}`);
    },
  }, async (files) => {
    const { structured } = await files.done("file_write", { filename: "f", content: "one" });
    assert.match(
      await files.refused("file_write", { filename: "f", link: true, mode: "create" }),
      /of this name already/,
    );
    assert.match(await files.refused("file_write", { filename: "folder", link: true }), /it is a directory/);
    assert.match(await files.refused("file_write", { filename: "secret", link: true }), /settings deny this name/);
    assert.match(await files.refused("file_write", { filename: "f", link: true, mode: "append" }), /one whole file/);
    assert.match(await files.refused("file_write", { filename: "f", link: true, content: "x" }), /one whole file/);
    assert.match(await files.refused("file_write", { filename: "f" }), /content parameter is required/);
    assert.match(await files.refused("file_write", { filename: "../f", link: true }), /path traversal not allowed/);
    assert.match(
      await files.refused("file_write", { filename: "f", link: true, if_version: "0".repeat(12) }),
      /as expected/,
    );
    for (
      const [filename, said] of [["con", /device name/], ["a/x.", /in a dot/], ["'q'", /mean q\?/], [
        "~/q",
        /mean q\?/,
      ]] as const
    ) {
      assert.match(await files.refused("file_write", { filename, link: true }), said);
    }
    const created = await uploadLink(files, "new", { mode: "create" });
    await files.done("file_write", { filename: "new", content: "meanwhile" });
    assert.deepEqual(await putText(created), [409, "There is something of this name already.\n"]);
    const matched = await uploadLink(files, "f", { if_version: structured["version"] });
    await files.done("file_write", { filename: "f", content: "two" });
    assert.equal((await put(matched, "three")).status, 409);
    assert.equal(Deno.readTextFileSync(`${files.root}/f`), "two");
    const protectedFile = await put(await uploadLink(files, ".git/config"), "x");
    assert.equal(protectedFile.status, 403);
    assert.deepEqual(stagedFiles(files.root), []);
  }));

async function putText(url: string): Promise<readonly [number, string]> {
  const { status, text } = await put(url, "x");
  return [status, text];
}

Deno.test("an upload that breaks off, stalls, drips or is too large writes nothing, and the link is still good", () =>
  withFileServer({
    env: { WORKSPACE_QUOTA_BYTES: "6000000" },
    bounds: { transfers: { stallMs: 6_000 } }, // longer than a busy machine lets a byte wait
    fill: (root) => Deno.writeTextFileSync(`${root}/f`, "old"),
  }, async (files) => {
    const url = await uploadLink(files, "f");
    assert.match(await raw(url, "Content-Length: 5000000", ["x".repeat(300_000)], "close"), /^$/);
    assert.match(
      await raw(url, "Content-Length: 5000000", ["x".repeat(300_000)], "wait"),
      /^HTTP\/1\.1 408 [^]*Nothing was written/,
    );
    assert.match(await raw(url, "Transfer-Encoding: chunked", ["5\r\nabcde\r\n"], "wait"), /^HTTP\/1\.1 408 /);
    const bytes = Array.from({ length: 20 }, () => "1\r\nx\r\n".repeat(1_000));
    assert.match(
      await raw(url, "Transfer-Encoding: chunked", bytes, "wait"),
      /^HTTP\/1\.1 400 [^]*too many small pieces/,
    );
    assert.match(await raw(url, "Content-Length: 7000000", [], "wait"), /^HTTP\/1\.1 413 /);
    assert.equal((await put(url, chunked(new Uint8Array(8 * megabyte), 100_000))).status, 507);
    assert.equal((await put(url, "x", { "content-encoding": "gzip" })).status, 415);
    assert.equal(Deno.readTextFileSync(`${files.root}/f`), "old");
    assert.equal((await put(url, large)).status, 200);
    assert.deepEqual(stagedFiles(files.root), []);
    assert.deepEqual(Deno.readFileSync(`${files.root}/f`), large);
    // the rest of its body is not read
    assert.match(
      await raw(url, "Content-Length: 5000000", [], "wait"),
      /^HTTP\/1\.1 404 [^]*\r\nconnection: close\r\n/i,
    );
  }));

/** Sends a head and pieces of a body; gives what is answered, with `close` nothing. */
async function raw(url: string, framing: string, pieces: readonly string[], then: "close" | "wait"): Promise<string> {
  const { hostname, port, host, pathname } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const encoder = new TextEncoder();
  const writer = connection.writable.getWriter();
  const sending = (async () => {
    await writer.write(encoder.encode(`PUT ${pathname} HTTP/1.1\r\nHost: ${host}\r\n${framing}\r\n\r\n`));
    for (const piece of pieces) await writer.write(encoder.encode(piece));
  })().catch(() => {});
  if (then === "close") {
    await sending;
    return "";
  }
  let answer = "";
  const part = new Uint8Array(4_096);
  while (!/\r\n\r\n[^]/.test(answer)) { // head and body may come apart
    const length = await connection.read(part);
    if (length === null) break;
    answer += new TextDecoder().decode(part.subarray(0, length));
  }
  return answer;
}

Deno.test("of uploads by one link one alone is written", () =>
  withFileServer({}, async (files) => {
    const url = await uploadLink(files, "f");
    const bodies = Array.from({ length: 6 }, (_, index) => new Uint8Array(megabyte).fill(index + 1));
    const answers = await Promise.all(bodies.map((body) => put(url, chunked(body, 10_000)).catch(() => null)));
    const done = answers.filter((answer) => answer?.status === 201);
    assert.equal(done.length, 1, JSON.stringify(answers));
    const written = Deno.readFileSync(`${files.root}/f`);
    assert.equal(written.length, megabyte);
    assert.equal(new Set(written).size, 1);
    assert.deepEqual(stagedFiles(files.root), []);
  }));

Deno.test("an upload within the storage's workspace takes the same way", () =>
  withFileServer({ env: { WORKSPACE_STORE: "storage" } }, async (files: FileServer) => {
    const answer = await put(await uploadLink(files, "a/b.bin"), chunked(large, 100_000));
    assert.equal(answer.status, 201);
    const url = String((await files.done("file_read", { filename: "a/b.bin", link: true })).structured["url"]);
    const back = await fetch(url);
    assert.deepEqual(new Uint8Array(await back.arrayBuffer()), large);
    await until("the link is used up", async () => (await ask(url)).status === 404);
  }));

Deno.test("a server that is told to stop lets the uploads that run arrive, and takes no further one", () =>
  withFileServer({}, async (files) => {
    const [running, later] = [await uploadLink(files, "f"), await uploadLink(files, "g")];
    const rest = Promise.withResolvers<void>();
    const putting = put(
      running,
      new ReadableStream({
        async start(controller) {
          controller.enqueue(large);
          await rest.promise;
          controller.close();
        },
      }),
    );
    await until("it runs", () => files.server.stderr().includes('"transfer_started"'));
    const stopped = files.server.stop("SIGTERM");
    await until("no other begins", async () => (await put(later, "x").catch(() => null))?.status !== 201);
    rest.resolve();
    assert.equal((await putting).status, 201);
    assert.equal((await stopped).code, 0);
    assert.deepEqual(Deno.readFileSync(`${files.root}/f`), large);
  }));
