import assert from "node:assert/strict";
import { createAccessRules } from "../../src/files/workspace/access_rules.ts";
import { foldName, isReserved } from "../../src/files/workspace/path.ts";

Deno.test("foldName() gives one text for the spellings that a file system may take for one name", () => {
  const same = [
    ["README", "readme", "ReadMe"],
    ["caf\u00e9", "cafe\u0301", "CAF\u00c9", "CAFE\u0301"],
    ["secrets", "\u017fecrets", "SECRET\u017f"],
    ["kelvin", "\u212aelvin"],
    ["stra\u00dfe", "STRASSE", "stra\u1e9ee"],
    ["\u03c3\u03bf\u03c6\u03cc\u03c2", "\u03a3\u039f\u03a6\u038c\u03a3"],
    ["\ufb01le", "file", "\uff46ile"],
    [".git", ".g\u200cit", "\ufeff.git", ".gi\u00adt", ".git\ufe0f"],
    ["\u0130", "i\u0307"],
    ["\uac00", "\u1100\u1161"],
  ];
  for (const names of same) assert.deepEqual(new Set(names.map(foldName)).size, 1, names.join(" "));
});

Deno.test("foldName() keeps names apart that every file system keeps apart", () => {
  const names = ["a", "b", "a b", "a.", "a..b", "\u4e2d", "\u6587", "e", "\u00e9", "\ud83d\ude00", "~1", "", "."];
  assert.equal(new Set(names.map(foldName)).size, names.length);
});

Deno.test("rules and the reserved name meet what Windows drops: dots and blanks at the end, and streams", () => {
  const rules = createAccessRules({ denied: ["*.pem", "/secrets", "odd:name", "..."] });
  const suffixes = ["", ".", " ", ". .", "\u00a0", "::$DATA", ":stream", ":stream:$DATA", "::$INDEX_ALLOCATION"];
  for (const suffix of suffixes) {
    assert.ok(rules.isDenied([`Key.PEM${suffix}`]), suffix);
    assert.ok(rules.isDenied([`secrets${suffix}`, "a"]), suffix);
    assert.ok(rules.isProtected(["a", `.git${suffix}`, "config"]), suffix);
    assert.ok(isReserved([`.portcullis${suffix}`, "a"]), suffix);
    assert.ok(!rules.isDenied([`a${suffix}`]) && !rules.isProtected([`git${suffix}`]), suffix);
  }
  assert.ok(rules.isDenied(["odd:name"]) && !rules.isDenied(["odd"]) && rules.isDenied(["..."]));
  assert.ok(!isReserved(["a", ".portcullis"]) && !isReserved([]) && !isReserved([":"]));
});
