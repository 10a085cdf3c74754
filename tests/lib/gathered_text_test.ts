import assert from "node:assert/strict";
import fc from "fast-check";
import { gatherText } from "../../src/lib/log.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const upper = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, "?");

Deno.test("gathered text is the texts in their order, in UTF-8, whatever their sizes", () => {
  const text = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 40 }),
    fc.integer({ min: 4_000, max: 9_000 }).map((length) => "x".repeat(length)),
  );
  fc.assert(fc.property(fc.array(text, { maxLength: 30 }), (texts) => {
    const gathered = gatherText();
    for (const each of texts) gathered.add(each);
    const taken = gathered.take();
    gathered.add("more");
    assert.equal(decoder.decode(gathered.take()), "more");
    assert.equal(decoder.decode(taken), texts.join(""));
  }));
});

Deno.test("whatever is not printable ASCII passes what finishes it, and only that", () => {
  const text = fc.string({ unit: fc.oneof(fc.constantFrom("\u007f", "\u009b", "é", "\u202e", "a"), fc.string()) });
  fc.assert(fc.property(fc.array(text, { maxLength: 30 }), (texts) => {
    const gathered = gatherText(upper);
    for (const each of texts) gathered.add(each);
    assert.ok(!/[\u007f\u009b\u202e]/.test(decoder.decode(gathered.take())));
  }));
});
