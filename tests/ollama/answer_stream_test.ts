import assert from "node:assert/strict";
import fc from "fast-check";
import { parseLine } from "../../src/llm/model_client.ts";
import { readAnswer, watchCall } from "../../src/llm/transport.ts";
import { hostOf, noSignal, testLimits } from "../fixtures/ollama_calls.ts";
import { deltaLine, finalLine } from "../fixtures/ollama_lines.ts";

const line = fc.oneof(
  fc.string({ unit: "binary" }).map((text) => JSON.stringify(deltaLine("generate", "m", { text }))),
  fc.string().map((thinking) => JSON.stringify(deltaLine("chat", "m", { thinking }))),
  fc.constant(JSON.stringify(finalLine("chat", "m", { reason: "stop", promptTokens: 1, tokens: 1 }))),
  fc.constant('{"error":"broken"}'),
  fc.json(),
);
/** Bytes of a plausible stream with some of them changed, cut into chunks anywhere. */
const chunks = fc.record({
  lines: fc.array(line, { maxLength: 12 }),
  changes: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
  cuts: fc.array(fc.nat(), { maxLength: 6 }),
}).map(({ lines, changes, cuts }) => {
  const bytes = new TextEncoder().encode(lines.join("\n"));
  for (const [at, byte] of changes) if (bytes.byteLength > 0) bytes[at % bytes.byteLength] = byte;
  const at = [...cuts.map((cut) => cut % (bytes.byteLength + 1)), 0, bytes.byteLength].sort((a, b) => a - b);
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
});

Deno.test("readAnswer() ends whatever bytes come with exactly one event, done or failed, and nothing after it", async () => {
  const host = hostOf("");
  const limits = testLimits({ maxLineBytes: 300, maxOutputBytes: 200 });
  await fc.assert(
    fc.asyncProperty(chunks, async (chunks) => {
      const watch = watchCall(host, { signal: noSignal(), totalMs: 5000 }, 5000);
      const body = ReadableStream.from(chunks);
      const types: string[] = [];
      let size = 0;
      for await (const event of readAnswer(body, { host, watch, limits, parse: parseLine, model: "m" })) {
        types.push(event.type);
        if (event.type === "delta") size += new TextEncoder().encode(event.text + event.thinking).byteLength;
        if (event.type === "failed") assert.match(event.failure.message, /[.;]/);
      }
      watch.dispose();
      assert.ok(types.length > 0 && types.slice(0, -1).every((type) => type === "delta"), types.join());
      assert.notEqual(types.at(-1), "delta");
      assert.ok(size <= limits.maxOutputBytes);
    }),
    { numRuns: 300 },
  );
});
