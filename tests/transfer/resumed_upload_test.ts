/** Uploads by link that go on where they ended, at the started server, with files on the disk and in the storage. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type FileServer, type FileServerOptions, withFileServer } from "../fixtures/file_server.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { testInEachWay } from "../fixtures/workspace_ways.ts";
import { ask, downloadLink, put, stagedFiles, unendedBody, uploadLink } from "./links.ts";

const content = new Uint8Array(2_000_003).map((_, index) => index % 251);
const sha256 = createHash("sha256").update(content).digest("hex");

interface Answer {
  readonly status: number;
  readonly text: string;
  /** How much is there, as the answer says. */
  readonly range: string | null;
}

async function putPart(
  url: string,
  from: number,
  to: number,
  total: number | string = content.length,
): Promise<Answer> {
  return await putRange(url, `bytes ${from}-${to - 1}/${total}`, content.slice(from, to));
}

async function putRange(url: string, contentRange: string, body: BodyInit = ""): Promise<Answer> {
  const { status, text, headers } = await ask(url, { method: "PUT", body, headers: { "content-range": contentRange } });
  return { status, text, range: headers.get("range") };
}

const question = "bytes */*";
const stores = [["on the disk", {}], ["in the storage", { WORKSPACE_STORE: "storage" }]] as const;

function uploadInParts(start: FileServerOptions): Promise<void> {
  return withFileServer(start, async (files) => {
    await files.done("file_write", { filename: "f", content: "old" });
    const url = await uploadLink(files, "f");
    assert.deepEqual(await putRange(url, question), { status: 308, text: "", range: null });
    assert.deepEqual(await putPart(url, 0, 700_000), { status: 308, text: "", range: "bytes=0-699999" });
    assert.deepEqual(await putRange(url, question), { status: 308, text: "", range: "bytes=0-699999" });
    assert.deepEqual(await putPart(url, 700_000, 700_001), { status: 308, text: "", range: "bytes=0-700000" });
    assert.equal((await files.done("file_read", { filename: "f" })).text.startsWith("old"), true);
    const done = await putPart(url, 700_001, content.length);
    assert.deepEqual(JSON.parse(done.text), { size_bytes: content.length, sha256, created: false });
    assert.equal((await putPart(url, 700_001, content.length)).status, 404);
    assert.equal((await putRange(url, question)).status, 404);
    await checkContent(files, "f");
    await until(
      "the audit names the change",
      () => /"outcome":"whole"[^\n]*"change":"\w+"/.test(files.server.stderr()),
    );
    await until("the audit has each part", () => {
      const ends = files.server.stderr().matchAll(
        /"transfer_ended"[^\n]*?"upload"[^\n]*?"outcome":"(\w+)","reason":"(\d+) bytes"/g,
      );
      return Array.from(ends, ([, end, bytes]) => `${end} ${bytes}`).join() ===
        "part 0,part 700000,part 0,part 1,whole 1300002";
    });
    assert.match((await files.done("file_undo", {})).text, /file_write/);
    await files.done("file_undo", { change: "last" });
    assert.equal((await files.done("file_read", { filename: "f" })).text.startsWith("old"), true);
    const created = await uploadLink(files, "new/g");
    assert.equal((await put(created, "x")).status, 201);
    await files.done("file_undo", { change: "last" });
    await files.refused("file_read", { filename: "new/g" });
  });
}

const inParts = "an upload in parts is one change, which the audit tells and file_undo undoes";
testInEachWay(inParts, ({ start }) => uploadInParts(start));
Deno.test(`${inParts}: in the storage`, () => uploadInParts({ env: { WORKSPACE_STORE: "storage" } }));

for (const [where, env] of stores) {
  Deno.test(`an upload that broke, ${where}, goes on after kill -9, and what is left is swept`, async () => {
    await using place = await makeServerPlace();
    const created = await runCommand(["token", "create", "--scope", "files:write", "--data-dir", place.dataDir]);
    const token = created.stdout.trim();
    const linkAt = async ({ url }: RunningServer, filename: string): Promise<string> => {
      const message = toolCall("file_write", { filename, link: true });
      const { result } = await (await postMcp(url, message, { token })).json();
      return new URL(result.structuredContent.url).pathname;
    };
    const killed = await startServer(place, { env });
    const [going, left] = [await linkAt(killed, "f"), await linkAt(killed, "g")];
    const url = killed.url + going;
    assert.equal((await putPart(url, 0, 900_000)).status, 308);
    assert.equal((await putPart(killed.url + left, 0, 900_000)).status, 308);
    await breakOff(url, 900_000, 1_600_000);
    await until("it ended", () => killed.stderr().includes('"outcome":"hung_up"'));
    await killed.stop("SIGKILL");

    const again = await startServer(place, { env });
    const kept = Number((await putRange(again.url + going, question)).range?.slice("bytes=0-".length)) + 1;
    assert.ok(where === "on the disk" ? kept === 1_599_999 : kept > 900_000, `${kept}`);
    assert.equal((await putPart(again.url + going, kept, content.length)).status, 201);
    const back = await fetch(await readLink(again, token));
    assert.deepEqual(new Uint8Array(await back.arrayBuffer()), content);
    await again.stop();

    const bounds = { workspace: { draftKeepMs: 1 } };
    await using last = await startServer(place, { env, bounds });
    await linkAt(last, "h"); // which opens the workspace
    if (where === "on the disk") assert.deepEqual(stagedFiles(place.workspaceDir), []);
    assert.equal((await putRange(last.url + left, question)).range, null);
  });
}

async function readLink({ url }: RunningServer, token: string): Promise<string> {
  const { result } = await (await postMcp(url, toolCall("file_read", { filename: "f", link: true }), { token })).json();
  return result.structuredContent.url;
}

/** Sends a part up to a byte before its end, and hangs up. */
async function breakOff(url: string, from: number, to: number): Promise<void> {
  const { hostname, port, host, pathname } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const head = `PUT ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${to - from}\r\n` +
    `Content-Range: bytes ${from}-${to - 1}/${content.length}\r\n\r\n`;
  const writer = connection.writable.getWriter();
  await writer.write(new TextEncoder().encode(head));
  await writer.write(content.slice(from, to - 1));
}

async function checkContent({ root, done }: FileServer, filename: string): Promise<void> {
  const { structured } = await done("file_read", { filename, link: true });
  const back = await fetch(String(structured["url"]));
  assert.deepEqual(new Uint8Array(await back.arrayBuffer()), content, root);
}

Deno.test("parts that do not fit are refused in words, and change nothing of what is there", () =>
  withFileServer({ env: { WORKSPACE_QUOTA_BYTES: "3000000" } }, async (files) => {
    const url = await uploadLink(files, "f");
    assert.equal((await putPart(url, 0, 1_000)).status, 308);
    const rows: readonly (readonly [string, number, number])[] = [
      ["bytes 0-499", 400, 500], // no size
      ["bytes 0-499/*", 400, 500],
      ["bytes 1000-1499/1200", 400, 500],
      ["bytes 1499-1000/2000003", 400, 500],
      ["bytes -1-499/2000003", 400, 500],
      ["bytes 1000-1499/99999999999999999999", 400, 500],
      ["items 1000-1499/2000003", 400, 500],
      ["bytes 1000-1499/2000003, bytes 1500-1999/2000003", 400, 500],
      ["bytes=1000-1499/2000003", 400, 500],
      ["bytes 1000-1499/2000004", 400, 500], // another size than before
      ["bytes 1000-1499/3000001", 413, 500],
      ["bytes 1000-1499/999999999999999", 413, 500],
      ["bytes 999-1498/2000003", 416, 500], // overlaps
      ["bytes 1001-1500/2000003", 416, 500], // leaves a gap
      ["bytes 1000-1499/2000003", 400, 499], // as its length says
      ["bytes 1000-1499/2000003", 400, 501],
      ["bytes */2000003", 400, 1],
    ];
    for (const [contentRange, status, length] of rows) {
      const answer = await putRange(url, contentRange, new Uint8Array(length));
      assert.equal(answer.status, status, `${contentRange}: ${answer.text}`);
      assert.match(answer.text, /^[A-Z].*\n$/);
      if (status === 416) assert.deepEqual(answer.range, "bytes=0-999");
      assert.equal((await putRange(url, question)).range, "bytes=0-999", contentRange);
    }
    for (const [length, kept] of [[400_000, 300_000], [100, 100]] as const) { // of no declared length
      const at = Number((await putRange(url, question)).range?.slice(8)) + 1;
      const body = new Blob([content.slice(at, at + length)]).stream();
      const answer = await putRange(url, `bytes ${at}-${at + kept - 1}/${content.length}`, body);
      assert.equal(answer.status, length > kept ? 400 : 308, answer.text);
    }
    const there = Number((await putRange(url, question)).range?.slice(8)) + 1;
    assert.equal((await putPart(url, there, content.length)).status, 201);
    assert.deepEqual(Deno.readFileSync(`${files.root}/f`), content);
    assert.deepEqual(stagedFiles(files.root), []);

    const anew = await uploadLink(files, "g");
    assert.equal((await putPart(anew, 0, 1_000_000)).status, 507); // with what is there
    const smaller = await putRange(anew, "bytes 0-0/1", "x"); // from its beginning, of another size
    assert.equal(smaller.status, 201);
  }));

for (const [where, env] of stores) {
  Deno.test(`of parts that are sent at once by one link, ${where}, one after the other is taken, and the file is whole`, () =>
    withFileServer({ env }, async (files) => {
      const url = await uploadLink(files, "f");
      for (let there = 0, round = 0; there < content.length; round++) {
        assert.ok(round < 50);
        const to = Math.min(content.length, there + 500_000);
        const answers = await Promise.all(Array.from({ length: 5 }, () => putPart(url, there, to)));
        const isDone = answers.some(({ status }) => status === 201);
        for (const { status, text } of answers) {
          assert.ok([201, 308, 404, 409, 416].includes(status), `${status} ${text}`);
        }
        // the last may have been cut when all was there: the question ends it
        const { status, range } = await putRange(url, question);
        there = isDone || status === 201 ? content.length : Number(range?.slice(8) ?? -1) + 1;
      }
      await checkContent(files, "f");
      if (!("WORKSPACE_STORE" in env)) await until("nothing is left", () => stagedFiles(files.root).length === 0);
      const secret = url.split("/").at(-1) ?? "";
      assert.ok(!files.server.stderr().includes(secret.slice(0, 20)), "the log has no link");
    }));
}

Deno.test("what the file must be is judged at each part", () =>
  withFileServer({}, async (files) => {
    const { structured } = await files.done("file_write", { filename: "f", content: "one" });
    const url = await uploadLink(files, "f", { if_version: structured["version"] });
    assert.equal((await putPart(url, 0, 1_000)).status, 308);
    await files.done("file_write", { filename: "f", content: "two" });
    const answer = await putPart(url, 1_000, content.length);
    assert.deepEqual([answer.status, Deno.readTextFileSync(`${files.root}/f`)], [409, "two"]);
  }));

Deno.test("what no request comes for is swept while the server runs", () =>
  withFileServer({ bounds: { workspace: { draftKeepMs: 1_000 }, sweepIntervalMs: 200 } }, async (files) => {
    assert.equal((await putPart(await uploadLink(files, "f"), 0, 1_000)).status, 308);
    await until("it is swept", () => stagedFiles(files.root).length === 0);
  }));

Deno.test("a part that stalls is kept as far as it came", () =>
  withFileServer({ bounds: { transfers: { stallMs: 500 } } }, async (files) => {
    const url = await uploadLink(files, "f");
    const { body, end } = unendedBody(content.slice(0, 600_000));
    const stalled = await putRange(url, `bytes 0-999999/${content.length}`, body);
    end();
    assert.equal(stalled.status, 408);
    assert.match(stalled.text, /Its first 600000 bytes are kept: go on with Content-Range\./);
    assert.equal(stalled.range, "bytes=0-599999");
    assert.equal((await putPart(url, 600_000, content.length)).status, 201);
    assert.deepEqual(Deno.readFileSync(`${files.root}/f`), content);
  }));

Deno.test("a transfer that has begun goes on after its link's time, as long as it goes on, and a link that was not used does not", () =>
  withFileServer({
    bounds: { transfers: { linkLifetimeMs: 4_000, requestsPerMinute: 10_000 } },
    fill: (root) => Deno.writeFileSync(`${root}/d`, content),
  }, async (files) => {
    const [upload, download] = [await uploadLink(files, "f"), await downloadLink(files, "d")];
    const unused = await uploadLink(files, "g");
    let there = 0;
    const goOn = async (bytes: number): Promise<void> => {
      const to = there + bytes;
      assert.equal((await putPart(upload, there, to)).status, to === content.length ? 201 : 308);
      const part = await fetch(download, { headers: { range: `bytes=${there}-${to - 1}` } });
      assert.deepEqual([part.status, (await part.arrayBuffer()).byteLength], [206, bytes]);
      there = to;
    };
    await until("the other is too late", async () => {
      await goOn(1_000);
      return (await putRange(unused, question)).status === 404 || null;
    });
    await goOn(content.length - there);
    assert.deepEqual(Deno.readFileSync(`${files.root}/f`), content);
    await until("both are used up", async () => (await ask(download)).status === 404);
  }));
