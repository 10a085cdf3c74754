import assert from "node:assert/strict";
import fc from "fast-check";
import { readRequestText } from "../../src/lib/request_text.ts";

const bounds = { maxBytes: 200_000, timeoutMs: 60_000 };

/** The same bytes with a declared length, and in pieces of any size without one. */
function requestsOf(bytes: Uint8Array<ArrayBuffer>, pieceBytes: number): Request[] {
  const pieces = new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.byteLength; at += pieceBytes) controller.enqueue(bytes.slice(at, at + pieceBytes));
      controller.close();
    },
  });
  const declared = { "content-length": String(bytes.byteLength) };
  return [
    new Request("http://x", { method: "POST", body: bytes, headers: declared }),
    new Request("http://x", { method: "POST", body: pieces }),
  ];
}

Deno.test("readRequestText() gives what a strict UTF-8 decoder gives, and refuses what it refuses (RFC 8259 §8.1)", async () => {
  const strict = new TextDecoder("utf-8", { fatal: true });
  const chunk = fc.oneof(fc.uint8Array({ maxLength: 6 }), fc.string({ unit: "binary" }).map(encode));
  await fc.assert(
    fc.asyncProperty(fc.array(chunk), fc.integer({ min: 1, max: 9 }), async (chunks, pieceBytes) => {
      const bytes = new Uint8Array(chunks.flatMap((piece) => [...piece]));
      let expected: unknown = { ok: false, error: "not_utf8" };
      try {
        expected = { ok: true, value: strict.decode(bytes) };
      } catch {
        // it stays refused
      }
      for (const request of requestsOf(bytes, pieceBytes)) {
        assert.deepEqual(await readRequestText(request, bounds), expected);
      }
    }),
  );
  const replacement = encode('"\ufffd"'); // a body may say U+FFFD itself
  for (const request of requestsOf(replacement, 2)) {
    assert.deepEqual(await readRequestText(request, bounds), { ok: true, value: '"\ufffd"' });
  }
  const truncated = new Uint8Array([0x22, 0xf0, 0x9f, 0x98, 0x22]); // as long as with U+FFFD in its place
  for (const request of requestsOf(truncated, 2)) {
    assert.deepEqual(await readRequestText(request, bounds), { ok: false, error: "not_utf8" });
  }
});

Deno.test("readRequestText() counts to its limit, by declaration or by what comes", async () => {
  const fits = new Uint8Array(200_000).fill(97);
  for (const request of requestsOf(fits, 7_000)) assert.ok((await readRequestText(request, bounds)).ok);
  const exceeds = new Uint8Array(200_001).fill(97);
  for (const request of requestsOf(exceeds, 7_000)) {
    assert.deepEqual(await readRequestText(request, bounds), { ok: false, error: "too_large" });
  }
});

Deno.test("readRequestText() lets go of a body that does not come, and of what would still come", async () => {
  const letGo = Promise.withResolvers<void>();
  const body = new ReadableStream({ cancel: () => letGo.resolve() });
  const request = new Request("http://x", { method: "POST", body });
  const alive = setInterval(() => {}, 1_000); // deadlines keep no process alive
  const outcome = await readRequestText(request, { ...bounds, timeoutMs: 10 });
  await letGo.promise;
  clearInterval(alive);
  assert.deepEqual(outcome, { ok: false, error: "too_slow" });
});

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
