/** A server over standard input and output cleans up as the one over HTTP does: some people have no other. */
import assert from "node:assert/strict";
import { loadConfig } from "../../src/app/config/config.ts";
import { openInstallation } from "../../src/app/installation.ts";
import { runStdio } from "../../src/app/stdio_app.ts";
import { until } from "../fixtures/until.ts";

Deno.test("stdio removes what has expired, in the storage and in the trash", async () => {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-stdio-sweep-" });
  const loaded = loadConfig({
    flags: {},
    env: { DATA_DIR: `${directory}/data`, WORKSPACE_DIR: `${directory}/files` },
    readFile: () => assert.fail("no file was named"),
  });
  assert.ok(loaded.ok);
  const time = { now: Date.now() };
  const clock = (): number => time.now;
  const log = { write() {}, flush() {} };
  const installation = await openInstallation(loaded.value.storage, clock, { log });
  const stop = new AbortController();
  const input = new TransformStream<Uint8Array>();
  const output = new TransformStream<Uint8Array>();
  const answers = output.readable.getReader();
  const serving = runStdio(loaded.value, {
    ...installation,
    input: input.readable,
    output: output.writable,
    stop: stop.signal,
    log,
    clock,
    bounds: { sweepIntervalMs: 50 },
  });
  try {
    const writer = input.writable.getWriter();
    const ask = async (message: object) => {
      await writer.write(new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", id: 1, ...message })}\n`));
      return new TextDecoder().decode((await answers.read()).value);
    };
    const clientInfo = { name: "test", version: "1" };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    await ask({ method: "initialize", params });
    const call = (name: string, input: object) => ask({ method: "tools/call", params: { name, arguments: input } });
    await call("file_write", { filename: "a.txt", content: "a" });
    assert.match(await call("file_delete", { path: "a.txt" }), /"isError":false|Deleted/);
    const kept = () => Array.from(Deno.readDirSync(`${directory}/files/.portcullis/trash`)).length;
    assert.ok(kept() > 0);
    const { storage } = installation;
    const key = ["probe"] as const;
    await storage.commit({ puts: [{ key, value: 1, expiresAt: time.now + 1_000 }] });
    time.now += 400 * 86_400_000;
    await until("the trash to be empty", () => kept() === 0);
    time.now -= 400 * 86_400_000; // what was only passed over is there again
    assert.equal(await storage.get(key), null);
  } finally {
    stop.abort();
    await serving.catch(() => {});
    await installation.storage.close();
    await Deno.remove(directory, { recursive: true });
  }
});
