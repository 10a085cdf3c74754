/** Buffers whose memory is given back before the collector looks. */
import assert from "node:assert/strict";
import { releaseBytes } from "../../src/lib/release_bytes.ts";
import { createDocuments } from "../../src/files/documents/reading.ts";
import { openDocuments } from "../../src/files/documents/view.ts";
import { joinPieces } from "../../src/files/text/lines.ts";
import { at } from "../workspace/contract.ts";
import { withWorkspace } from "../tools/with_workspace.ts";

Deno.test("a large buffer is given back; a small one, and a part of a larger one, are not", () => {
  const [large, small, whole] = [new Uint8Array(100_000), new Uint8Array(10), new Uint8Array(200_000)];
  for (const bytes of [large, small, whole.subarray(0, 100_000)]) releaseBytes(bytes);
  assert.deepEqual([large.byteLength, small.byteLength, whole.byteLength], [0, 10, 200_000]);
});

Deno.test("pieces become one, in their order, and are given back", () => {
  const pieces = [1, 2, 3].map((byte) => new Uint8Array(100_000).fill(byte));
  const whole = joinPieces(pieces);
  assert.deepEqual([whole.byteLength, whole[0], whole[150_000], whole.at(-1)], [300_000, 1, 2, 3]);
  assert.deepEqual(pieces.map(({ byteLength }) => byteLength), [0, 0, 0]);
  assert.equal(joinPieces([]).byteLength, 0);
});

Deno.test("what is read of a document is the reader's own, whose release leaves the document as it is", () =>
  withWorkspace(async ({ workspace }) => {
    const page = `<!doctype html><p>${"word ".repeat(40_000)}</p>`;
    assert.ok((await workspace.write(at("page.html"), new TextEncoder().encode(page))).ok);
    const documents = createDocuments({ readingMs: 120_000 });
    try {
      const { view } = openDocuments(workspace, { documents, caller: "one" }, "text");
      const sizes: number[] = [];
      for (let time = 0; time < 2; time++) {
        const read = await view.read(at("page.html"), { offsetBytes: 0, lengthBytes: 1_000_000 });
        assert.ok(read.ok);
        sizes.push(read.value.bytes.byteLength);
        releaseBytes(read.value.bytes);
      }
      assert.ok(sizes[0] === sizes[1] && (sizes[0] ?? 0) > 150_000, sizes.join());
    } finally {
      documents.close();
    }
  }));
