import assert from "node:assert/strict";
import fc from "fast-check";
import { createSecretBox } from "../../src/lib/secrets.ts";

const box = createSecretBox(new Uint8Array(32).fill(7));

Deno.test("SecretBox opens what it sealed, for the same purpose and context only", async () => {
  const texts = fc.string({ unit: "binary" }).map((text) => text.toWellFormed());
  await fc.assert(
    fc.asyncProperty(texts, fc.string(), async (text, context) => {
      const sealed = await box.seal("a", text, context);
      assert.equal(await box.open("a", sealed, context), text);
      assert.equal(await box.open("b", sealed, context), null);
      assert.equal(await box.open("a", sealed, context + "x"), null);
    }),
    { examples: [["\ufeffbegins with a mark", ""]] },
  );
});

Deno.test("SecretBox refuses every single-character change of a sealed text, and any other text", async () => {
  const sealed = await box.seal("a", "secret", "context");
  for (let at = 0; at < sealed.length; at++) {
    for (const character of ["A", "_", "=", "!", ""]) {
      const altered = sealed.slice(0, at) + character + sealed.slice(at + 1);
      if (altered !== sealed) assert.equal(await box.open("a", altered, "context"), null, altered);
    }
  }
  const ofItsLetters = fc.stringMatching(/^[\w-]{36,50}$/);
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), ofItsLetters), async (text) => {
      assert.equal(await box.open("a", text, "context"), null);
    }),
  );
});

Deno.test("SecretBox opens what earlier versions sealed, and authenticates as they did", async () => {
  const sealed = "90gNrnlpj7VIaYvPwrK7m8bUZirsclTRxFCSwhaJGJdyfGi9pZXm1ODN3nS-RwcrsdU";
  assert.equal(await box.open("a", sealed, "context ü"), "zwölf Löwen \u{1f981} \ufeff");
  assert.equal(box.authenticate("a", "message ü"), "AViz4NcTDEhts9zctPuPWUPAlzNBw9fHvaQksRkufg0");
});

Deno.test("SecretBox under another master key opens nothing and authenticates differently", async () => {
  const other = createSecretBox(new Uint8Array(32).fill(8));
  assert.equal(await other.open("a", await box.seal("a", "secret", ""), ""), null);
  assert.notDeepEqual(other.authenticate("a", "message"), box.authenticate("a", "message"));
  assert.notDeepEqual(box.authenticate("b", "message"), box.authenticate("a", "message"));
  assert.throws(() => createSecretBox(new Uint8Array(31)), RangeError);
});
