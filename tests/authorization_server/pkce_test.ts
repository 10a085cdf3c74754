import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { isCodeChallenge } from "../../src/oauth/authorize.ts";
import { verifyCodeVerifier } from "../../src/oauth/token.ts";

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
const verifiers = fc.string({ unit: fc.constantFrom(...unreserved), minLength: 43, maxLength: 128 });
const challengeOf = (verifier: string) => createHash("sha256").update(verifier).digest("base64url");

Deno.test("the example of RFC 7636 appendix B verifies", () => {
  const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  assert.ok(verifyCodeVerifier(verifier, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"));
});

Deno.test("a verifier opens its own challenge and no other (property)", () => {
  fc.assert(fc.property(verifiers, verifiers, (one, other) => {
    assert.ok(isCodeChallenge(challengeOf(one)));
    assert.ok(verifyCodeVerifier(one, challengeOf(one)));
    assert.equal(verifyCodeVerifier(other, challengeOf(one)), one === other);
  }));
});

Deno.test("verifiers outside RFC 7636 §4.1 never verify, even if they hash right", () => {
  for (
    const verifier of [
      "",
      "a".repeat(42),
      "a".repeat(129),
      "a".repeat(42) + " ",
      "a".repeat(42) + "ä",
      "a".repeat(42) + "+",
    ]
  ) {
    assert.equal(verifyCodeVerifier(verifier, challengeOf(verifier)), false);
  }
});

Deno.test("challenges that are not a SHA-256 hash in base64url are refused (RFC 7636 §4.2)", () => {
  const good = challengeOf("a".repeat(43));
  for (
    const bad of ["", good.slice(1), `${good}=`, good.slice(0, 42) + "/", "a".repeat(128)]
  ) {
    assert.equal(isCodeChallenge(bad), false, bad);
  }
});
