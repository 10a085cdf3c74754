import assert from "node:assert/strict";
import type { StorageKey } from "../../src/storage/port.ts";
import { createPipeSender, receiveFromPipe } from "../../src/mcp/stream_resumption.ts";
import { until } from "../fixtures/until.ts";
import { createMemoryStorage } from "./memory_storage.ts";

const key: StorageKey = ["mcp_relay", "pipe"];
const log = { write: (_level: string, event: string) => assert.fail(event), flush: () => {} };

Deno.test("a pipe gives each text once, in order and whole, however long it is", async () => {
  const storage = createMemoryStorage();
  const sender = createPipeSender({ storage, clock: Date.now, key, lifetimeMs: 60_000 });
  const texts = ["one", "x".repeat(200_000), ...Array.from({ length: 30 }, (_, number) => `${number}`)];
  const received: string[] = [];
  let ended = false;
  receiveFromPipe({ storage, key, log }, { onText: (text) => received.push(text), onEnd: () => ended = true });
  for (const text of texts) await sender.send(text);
  await sender.end();
  await until("the end", () => ended);
  assert.deepEqual(received, texts);
});

Deno.test("a pipe ends where a piece is missing, so that its client asks again: nothing is left out in silence", async () => {
  for (const missing of ["000000000", "000000002"]) {
    const storage = createMemoryStorage();
    const sender = createPipeSender({ storage, clock: Date.now, key, lifetimeMs: 60_000 });
    for (const text of ["one", "two", "three", "four"]) await sender.send(text);
    await storage.commit({ deletes: [[...key, missing]] }); // expired, where the sender's clock was an hour behind
    const received: string[] = [];
    let ended = 0;
    receiveFromPipe({ storage, key, log }, { onText: (text) => received.push(text), onEnd: () => ended += 1 });
    await until("the end", () => ended === 1);
    assert.deepEqual(received, ["one", "two"].slice(0, Number(missing)));
    await sender.send("five");
    await sender.end();
    assert.equal(ended, 1);
  }
});
