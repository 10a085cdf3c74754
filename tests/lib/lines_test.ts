import assert from "node:assert/strict";
import fc from "fast-check";
import { type Line, readLines } from "../../src/lib/lines.ts";

const encoder = new TextEncoder();
const never = new AbortController().signal;

async function linesOf(
  chunks: readonly (string | Uint8Array)[],
  maxLineBytes = 1_000,
): Promise<(string | undefined)[]> {
  const input = ReadableStream.from(chunks.map((chunk) => typeof chunk === "string" ? encoder.encode(chunk) : chunk));
  const lines: Line[] = await Array.fromAsync(readLines(input, { maxLineBytes, stop: never }));
  return lines.map((line) => line.ok ? line.text : line.refusal);
}

Deno.test("readLines() gives lines wherever the chunks are cut, with either line end, and without blank ones", async () => {
  assert.deepEqual(await linesOf(["a\nb\r\n\n  \nc"]), ["a", "b", "c"]);
  const text = "żółw\n🐢🐢\nz\n";
  for (const size of [1, 2, 3, 5]) {
    const bytes = encoder.encode(text);
    const chunks = Array.from(
      { length: Math.ceil(bytes.length / size) },
      (_, index) => bytes.subarray(index * size, (index + 1) * size),
    );
    assert.deepEqual(await linesOf(chunks), ["żółw", "🐢🐢", "z"], `chunks of ${size}`);
  }
  assert.deepEqual(await linesOf([]), []);
});

Deno.test("readLines() skips a line that is too long and goes on with the next, keeping none of it", async () => {
  assert.deepEqual(await linesOf(["1234567890\n", "ok\n"], 10), ["1234567890", "ok"]);
  assert.deepEqual(await linesOf(["12345678901\nok\n"], 10), ["too_long", "ok"]);
  const long = Array.from({ length: 1_000 }, () => "x".repeat(1_000));
  assert.deepEqual(await linesOf([...long, "\nok"], 10), ["too_long", "ok"]);
  assert.deepEqual(await linesOf(["12345678901"], 10), ["too_long"]);
});

Deno.test("readLines() refuses a line that is not UTF-8, and only that one", async () => {
  assert.deepEqual(await linesOf([new Uint8Array([0x22, 0xff, 0x22, 0x0a]), "ok\n"]), ["not_utf8", "ok"]);
});

Deno.test("readLines() ends when it is told to, in the middle of a line", async () => {
  const stop = new AbortController();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const lines = readLines(readable, { maxLineBytes: 100, stop: stop.signal });
  const first = lines.next();
  await writer.write(encoder.encode("a\nhalf"));
  assert.deepEqual((await first).value, { ok: true, text: "a" });
  const second = lines.next();
  stop.abort();
  assert.equal((await second).done, true);
  await assert.rejects(writer.write(encoder.encode("x")).then(() => writer.closed));
});

Deno.test("readLines() gives the same lines however the bytes are cut", async () => {
  const line = fc.string({ unit: "binary" }).map((text) => text.replace(/[\n\ufeff]/g, "").toWellFormed().trim())
    .filter((text) => text !== "");
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.array(fc.nat(), { maxLength: 8 }), fc.boolean(), async (lines, cuts, ends) => {
      const bytes = encoder.encode(lines.join("\n") + (ends && lines.length > 0 ? "\n" : ""));
      const at = [...cuts.map((cut) => cut % (bytes.byteLength + 1)), 0, bytes.byteLength].sort((a, b) => a - b);
      const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
      assert.deepEqual(await linesOf(chunks, 10_000), lines);
    }),
  );
});

Deno.test("readLines() tells at once that a line is too long, though its end never comes", async () => {
  const lines = readLines(new ReadableStream({ start: (it) => it.enqueue(encoder.encode("x".repeat(11))) }), {
    maxLineBytes: 10,
    stop: never,
  });
  assert.deepEqual((await lines.next()).value, { ok: false, refusal: "too_long" });
});
