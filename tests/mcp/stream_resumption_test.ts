/** A client that asks for a stream of another instance and is gone again before the question is stored. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createSecretBox } from "../../src/lib/secrets.ts";
import { createStreamResumption } from "../../src/mcp/stream_resumption.ts";
import { until } from "../fixtures/until.ts";
import { principalWith } from "./harness.ts";
import { createMemoryStorage } from "./memory_storage.ts";

Deno.test("a request that its client gave up before it was stored is withdrawn once it is", async () => {
  const storage = createMemoryStorage();
  const gate = Promise.withResolvers<void>();
  let commits = 0;
  const slow: typeof storage = {
    ...storage,
    async commit(batch) {
      if (++commits === 1) await gate.promise;
      return await storage.commit(batch);
    },
  };
  const resumption = createStreamResumption({
    storage: slow,
    secretBox: createSecretBox(randomBytes(32)),
    clock: Date.now,
    log: { write: (_level, event) => assert.fail(event), flush: () => {} },
    limits: { resumeWindowMs: 60_000, resumeAnswerMs: 60_000 },
    toolTimeoutMs: 60_000,
  });
  const to = { onFrame: () => assert.fail("a frame"), onEnd: () => assert.fail("an end") };
  const request = resumption.ask({ resumeId: "stream", after: 0 }, principalWith([]), to);
  request.stop();
  assert.equal(await request.outcome, "over");
  gate.resolve();
  await until("the withdrawal", () => commits === 2);
  assert.equal(await storage.get(["mcp_resume", "stream"]), null);
});
