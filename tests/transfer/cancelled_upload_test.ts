/** Uploads that their sender cancels: by HTTP/2 their bodies end like whole ones (RFC 9113 §8.1). */
import assert from "node:assert/strict";
import { systemClock } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import { withFileServer } from "../fixtures/file_server.ts";
import { until } from "../fixtures/until.ts";
import { principalOf } from "../workspace/call_tool.ts";
import { at } from "../workspace/contract.ts";
import { put, transfersOf, uploadLink } from "./links.ts";

const [noError, cancel] = [0, 8];
const [dataFrame, headersFrame, resetFrame, settingsFrame] = [0, 1, 3, 4];
const endOfHeaders = 4;
const encoder = new TextEncoder();

function frame(type: number, stream: number, payload: readonly number[]): number[] {
  const flags = type === headersFrame ? endOfHeaders : 0;
  return [0, payload.length >> 8, payload.length & 0xff, type, flags, 0, 0, 0, stream, ...payload];
}

/** A field as a literal of its own (RFC 7541 §6.2.2). */
function field([name, value]: readonly [string, string]): number[] {
  return [0, name.length, ...encoder.encode(name), value.length, ...encoder.encode(value)];
}

for (const code of [noError, cancel]) {
  Deno.test(`an upload by HTTP/2 that is reset with ${code} before its declared end replaces nothing`, () =>
    withFileServer({ fill: (root) => Deno.writeTextFileSync(`${root}/f`, "as before") }, async (files) => {
      const url = await uploadLink(files, "f");
      const { hostname, port, host, pathname } = new URL(url);
      using connection = await Deno.connect({ hostname, port: Number(port) });
      const head = {
        ":method": "PUT",
        ":scheme": "http",
        ":path": pathname,
        ":authority": host,
        "content-length": "9",
      };
      await connection.write(Uint8Array.from([
        ...encoder.encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ...frame(settingsFrame, 0, []),
        ...frame(headersFrame, 1, Object.entries(head).flatMap(field)),
        ...frame(dataFrame, 1, [...encoder.encode("only")]),
      ]));
      await until("it runs", () => files.server.stderr().includes('"transfer_started"'));
      await connection.write(Uint8Array.from(frame(resetFrame, 1, [0, 0, 0, code])));
      await until("it is over", () => files.server.stderr().includes('"transfer_ended"'));
      assert.equal(Deno.readTextFileSync(`${files.root}/f`), "as before");
      assert.equal((await put(url, "all of it")).status, 200);
      assert.equal(Deno.readTextFileSync(`${files.root}/f`), "all of it");
    }));
}

Deno.test("an upload without a declared length whose sender is gone at its end replaces nothing", async () => {
  const directory = await Deno.makeTempDir();
  const storage = openSqliteStorage({ path: `${directory}/links.db`, clock: systemClock });
  const workspace = openDiskWorkspace({ root: `${directory}/ws` });
  try {
    const transfers = transfersOf(storage, workspace);
    const link = await transfers.links.forUpload(principalOf("owner"), at("f"), {});
    assert.ok(link.ok);
    const sender = new AbortController();
    const send = async (signal: AbortSignal): Promise<number> => {
      const request = new Request(link.value.url, { method: "PUT", body: new Blob(["text"]).stream(), signal });
      return (await transfers.endpoint(request, { address: "127.0.0.1" } as never)).status;
    };
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(encoder.encode("te"));
      },
      pull(controller) {
        sender.abort();
        controller.close();
      },
    }, { highWaterMark: 0 });
    const cut = { method: "PUT", headers: new Headers(), url: link.value.url, body, signal: sender.signal };
    const answer = await transfers.endpoint(cut as Request, { address: "127.0.0.1" } as never);
    assert.equal(answer.status, 400, await answer.text());
    assert.equal((await workspace.read(at("f"))).ok, false);
    assert.equal(await send(new AbortController().signal), 201);
  } finally {
    await workspace.close();
    await storage.close();
    await Deno.remove(directory, { recursive: true });
  }
});
