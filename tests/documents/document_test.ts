/** The parts that all readers of documents share. */
import assert from "node:assert/strict";
import {
  DocumentBudget,
  type DocumentReader,
  DocumentRefusal,
  type DocumentText,
} from "../../src/files/documents/document.ts";

Deno.test("DocumentBudget refuses what is more than is left, before it is allocated, and goes on with the rest", async () => {
  const read: DocumentReader = (bytes, budget): Promise<DocumentText> => {
    budget.take(bytes.length);
    return Promise.resolve({ kind: "pdf", summary: "", remarks: [], parts: [] });
  };
  const budget = new DocumentBudget(10);
  await read(new Uint8Array(4), budget, 1);
  assert.throws(() => read(new Uint8Array(7), budget, 1), DocumentRefusal);
  assert.equal(budget.left, 6);
});
