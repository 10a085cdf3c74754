/** The hashes in JavaScript, beside Node's native ones. */
import assert from "node:assert/strict";
import * as native from "node:crypto";
import fc from "fast-check";
import {
  createHmac,
  createKeyDerivation,
  equalInConstantTime,
  hashSecret,
  matchesHash,
  sha256Of,
} from "../../src/lib/secrets.ts";

const texts = fc.string({ unit: "binary", maxLength: 300 }); // over several blocks, halves of pairs among them
const keys = fc.uint8Array({ minLength: 32, maxLength: 32 });

Deno.test("SHA-256, HMAC and HKDF are those of Node, for any text and key", () => {
  fc.assert(fc.property(texts, texts, keys, (text, other, key) => {
    assert.equal(sha256Of(text).toHex(), native.createHash("sha256").update(text, "utf8").digest("hex"));
    assert.equal(hashSecret(text), native.createHash("sha256").update(text, "utf8").digest("base64url"));
    const authenticate = createHmac(key);
    for (const message of [text, other]) {
      const expected = native.createHmac("sha256", key).update(message, "utf8").digest();
      assert.deepEqual([...authenticate(message)], [...expected]);
    }
    const deriveKey = createKeyDerivation(key);
    for (const purpose of [text, other]) {
      const expected = native.hkdfSync("sha256", key, new Uint8Array(0), purpose, 32);
      assert.deepEqual(deriveKey(purpose), new Uint8Array(expected));
    }
  }));
});

Deno.test("two texts are equal only if all of their characters are, and a secret matches its own hash only", () => {
  fc.assert(fc.property(texts.map((text) => text.toWellFormed()), fc.nat(), (text, place) => {
    assert.ok(equalInConstantTime(text, text) && matchesHash(text, hashSecret(text)));
    const at = place % (text.length + 1);
    for (const changed of [`${text.slice(0, at)}x${text.slice(at)}`, `${text.slice(0, at)}\0${text.slice(at + 1)}`]) {
      assert.equal(equalInConstantTime(text, changed), text === changed);
      assert.equal(matchesHash(changed, hashSecret(text)), text === changed);
    }
  }));
});
