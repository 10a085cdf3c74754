import assert from "node:assert/strict";
import fc from "fast-check";
import { createSecretBox } from "../../src/lib/secret_box.ts";

const box = createSecretBox(new Uint8Array(32).fill(7));

Deno.test("SecretBox opens what it sealed, for the same purpose and context only", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }).map((text) => text.toWellFormed()), fc.string(), (text, context) => {
      const sealed = box.seal("a", text, context);
      assert.equal(box.open("a", sealed, context), text);
      assert.equal(box.open("b", sealed, context), null);
      assert.equal(box.open("a", sealed, context + "x"), null);
    }),
  );
});

Deno.test("SecretBox refuses every single-character change of a sealed text, and any other text", () => {
  const sealed = box.seal("a", "secret", "context");
  for (let at = 0; at < sealed.length; at++) {
    for (const character of ["A", "_", "=", "!", ""]) {
      const altered = sealed.slice(0, at) + character + sealed.slice(at + 1);
      if (altered !== sealed) assert.equal(box.open("a", altered, "context"), null, altered);
    }
  }
  fc.assert(fc.property(fc.string(), (text) => assert.equal(box.open("a", text, "context"), null)));
});

Deno.test("SecretBox under another master key opens nothing and authenticates differently", () => {
  const other = createSecretBox(new Uint8Array(32).fill(8));
  assert.equal(other.open("a", box.seal("a", "secret", ""), ""), null);
  assert.notDeepEqual(other.authenticate("a", "message"), box.authenticate("a", "message"));
  assert.notDeepEqual(box.authenticate("b", "message"), box.authenticate("a", "message"));
  assert.throws(() => createSecretBox(new Uint8Array(31)), RangeError);
});
