import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import {
  createPasswordHasher,
  hashPassword,
  passphraseProblem,
  verifyPassword,
} from "../../src/oauth/password_hash.ts";
import { onLinux, skippedUnless } from "../fixtures/skipped_unless.ts";

Deno.test("hashPassword() gives an Argon2id PHC string with a fresh salt that verifies (RFC 9106)", async () => {
  const [one, two] = await Promise.all([hashPassword("a passphrase"), hashPassword("a passphrase")]);
  assert.match(one, /^\$argon2id\$v=19\$m=47104,t=1,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.notEqual(one, two);
  assert.ok(await verifyPassword("a passphrase", one));
  assert.ok(!await verifyPassword("A passphrase", one));
  assert.ok(!await verifyPassword("", one));
});

Deno.test("a hash made by the reference implementation of Argon2 verifies", async () => {
  // argon2 -id -t 2 -k 256 -p 1 -l 24 with the salt "somesalt", from the test vectors of phc-winner-argon2.
  const phc = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
  assert.ok(await verifyPassword("password", phc));
});

Deno.test("where there is no Argon2id, scrypt takes its place, with OWASP's costs (RFC 7914)", async () => {
  const [one, two] = await Promise.all([
    hashPassword("a passphrase", "scrypt"),
    hashPassword("a passphrase", "scrypt"),
  ]);
  assert.match(one, /^\$scrypt\$ln=17,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.notEqual(one, two);
  assert.ok(await verifyPassword("a passphrase", one));
  assert.ok(!await verifyPassword("A passphrase", one));
});

Deno.test("scrypt gives what its specification does (RFC 7914 §12)", async () => {
  const phc = (base64: string): string => `$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$${base64}`;
  const vector = "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2" +
    "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887";
  const hash = phc(Uint8Array.fromHex(vector).toBase64({ omitPadding: true }));
  assert.ok(await verifyPassword("pleaseletmein", hash));
  // Beyond a gibibyte, or without sense: a setting must not stop the server.
  for (const costs of ["ln=24,r=8,p=1", "ln=99,r=8,p=1", "ln=0,r=8,p=1", "ln=14,r=0,p=1", "ln=14,r=8,p=17"]) {
    assert.ok(!await verifyPassword("pleaseletmein", hash.replace("ln=14,r=8,p=1", costs)), costs);
  }
});

Deno.test("the same letters in another Unicode form are the same passphrase (RFC 8265 §4.2.2)", async () => {
  assert.ok(await verifyPassword("pa\u0308ssphrase", await hashPassword("p\u00e4ssphrase")));
});

Deno.test("texts that are no Argon2id hash never verify", async () => {
  const hash = await hashPassword("a passphrase");
  for (
    const text of [
      "",
      "a passphrase",
      hash.replace("argon2id", "argon2i"),
      hash.replace("v=19", "v=16"),
      hash.replace("m=47104", "m=9999999"),
      hash.replace("t=1", "t=0"),
      hash.replace("t=1", "t=99"),
      hash.replace("p=1", "p=0"),
      `${hash}=`,
      hash.slice(0, -30),
    ]
  ) {
    assert.ok(!await verifyPassword("a passphrase", text), text);
  }
});

Deno.test("passphrases are 12 characters at least and 1024 bytes at most", () => {
  assert.match(passphraseProblem("x".repeat(11)) ?? "", /12 characters/);
  assert.equal(passphraseProblem("vwzk qjxp ym"), null);
  assert.equal(passphraseProblem("🗝🦊🌵🪁🧭".repeat(2) + "🎺🛶"), null);
  assert.match(passphraseProblem("🗝".repeat(11)) ?? "", /12 characters/);
  assert.match(passphraseProblem("x".repeat(1_025)) ?? "", /1024 bytes/);
});

Deno.test("at most so many hashes run at once, so many wait, and the rest are told that it is busy", async () => {
  const hasher = createPasswordHasher();
  const cheap = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$" + "A".repeat(43);
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => hasher.verify("x", cheap)));
  assert.deepEqual(outcomes, [...Array(18).fill(false), "busy", "busy"]);
  assert.equal(await hasher.verify("x", cheap), false);
});

Deno.test({
  ...skippedUnless(...onLinux, "a process that has hashed many passphrases is no larger for it"),
  async fn() {
    const program = fileURLToPath(new URL("./hash_many.ts", import.meta.url));
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--config", "deno.dev.json", program, "12"],
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
      stderr: "inherit",
    }).output();
    assert.equal(code, 0);
    const grown = Number(new TextDecoder().decode(stdout));
    // At 19 MiB a hash, glibc 2.36 kept some 200 MB of these.
    assert.ok(grown < 100, `it grew by ${grown} MB`);
  },
});
