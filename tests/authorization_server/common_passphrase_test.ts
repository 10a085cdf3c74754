import assert from "node:assert/strict";
import { passphraseProblem } from "../../src/oauth/password_hash.ts";

for (
  const common of [
    "passwordpassword",
    "Password1234!",
    "P@ssw0rd2026",
    "pa55word pa55word",
    "123456789012",
    "098765432109",
    "111111111111",
    "121212121212",
    "198419841984",
    "qwertyuiop12",
    "QwertyQwerty",
    "1q2w3e4r5t6y",
    "1qaz2wsx3edc",
    "asdfghjkl123",
    "zxcvbnmzxcvbnm",
    "abcdefghijkl",
    "abc123abc123",
    "iloveyou1234",
    "I love you 2!",
    "letmeinletmein",
    "let-me-in-please",
    "admin admin admin",
    "administrator",
    "welcome12345",
    "Welcome You 1!",
    "portcullis123",
    "portcullisowner",
    "changeme changeme",
    "summer2026summer",
    "monkeydragon99",
    "TrustNo1TrustNo1",
    "to be or not to be",
    "aaaaaaaaaaaab",
    "            ",
    "............",
  ]
) {
  Deno.test(`passphraseProblem() refuses ${JSON.stringify(common)} (NIST SP 800-63B §3.1.1.2)`, () => {
    assert.match(passphraseProblem(common) ?? "", /try first/);
  });
}

for (
  const uncommon of [
    "correct horse battery",
    "another passphrase",
    "a walrus hums in C",
    "Grüße aus dem Keller",
    "密码不应该太容易被猜到哦",
    "kupferne Teekanne",
    "my password is a heron",
    "xK9#mQ2$vL7@pR4",
    "492817305561",
  ]
) {
  Deno.test(`passphraseProblem() takes ${JSON.stringify(uncommon)}`, () => {
    assert.equal(passphraseProblem(uncommon), null);
  });
}

Deno.test("judging a passphrase of any length and shape stays quick to do", () => {
  for (const text of ["a".repeat(1_024), "love".repeat(256), "abcde".repeat(204), "é".repeat(512)]) {
    assert.match(passphraseProblem(text) ?? "", /try first/);
  }
});
