import assert from "node:assert/strict";
import fc from "fast-check";
import { allScopes, knownScopes, parseScope, scopeProblem } from "../../src/oauth/scope.ts";
import { isWithinScopes } from "../../src/oauth/token.ts";
import { effectiveScopes } from "../../src/lib/principal.ts";

const subset = fc.subarray(allScopes());

Deno.test("parseScope() takes spaces and, as ServiceNow sends them, commas; each name once (RFC 6749 §3.3)", () => {
  assert.deepEqual(parseScope("files:read, files:write,files:read  llm:generate"), [
    "files:read",
    "files:write",
    "llm:generate",
  ]);
  assert.deepEqual(parseScope("  ,, "), []);
});

Deno.test("knownScopes() leaves unknown names out and keeps the catalogue's order", () => {
  assert.deepEqual(knownScopes(["llm:generate", "offline_access", "files:read"]), ["files:read", "llm:generate"]);
});

Deno.test("scopeProblem() names the nearest scope, of each that is misspelled by a letter", () => {
  for (const scope of allScopes()) {
    for (const misspelled of [scope.slice(0, -1), scope.replace(":", ""), `${scope}s`]) {
      assert.ok(scopeProblem(misspelled)?.endsWith(`; did you mean ${scope}?`), `${scopeProblem(misspelled)}`);
    }
    assert.equal(scopeProblem(scope), null);
  }
  assert.match(scopeProblem("") ?? "", /^is empty; use one or more of: files:read /);
});

Deno.test("files:write covers files:read, not the other way round (MCP: scope hierarchies)", () => {
  assert.ok(isWithinScopes(["files:read"], ["files:write"]));
  assert.ok(!isWithinScopes(["files:write"], ["files:read"]));
});

Deno.test("scope arithmetic: reflexive, monotonous, closed under implication (property)", () => {
  fc.assert(fc.property(subset, subset, (one, other) => {
    assert.ok(isWithinScopes(one, one));
    assert.ok(isWithinScopes(one, [...one, ...other]));
    const closed = [...effectiveScopes(one)];
    assert.deepEqual(new Set(effectiveScopes(closed)), new Set(closed));
    assert.equal(isWithinScopes(other, one), isWithinScopes(other, closed));
  }));
});
