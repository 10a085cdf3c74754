import assert from "node:assert/strict";
import { type Principal, shareKey } from "../../src/lib/principal.ts";

Deno.test("a client that refreshes its tokens stays one caller; another grant, or another person, is another", () => {
  const principal: Principal = {
    ...{ subject: "ada", clientId: "c", grantId: "g", tokenId: "t1", keyId: null, expiresAt: 0 },
    scopes: new Set(),
  };
  assert.equal(shareKey({ ...principal, tokenId: "t2" }), shareKey(principal));
  assert.notEqual(shareKey({ ...principal, grantId: "h" }), shareKey(principal));
  assert.notEqual(shareKey({ ...principal, subject: "ben" }), shareKey(principal));
});
