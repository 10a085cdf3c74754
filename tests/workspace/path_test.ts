import assert from "node:assert/strict";
import { posix } from "node:path";
import fc from "fast-check";
import {
  compareNames,
  maxNameBytes,
  maxPathBytes,
  newNameProblem,
  parseDirectoryPath,
  parseFilePath,
} from "../../src/files/workspace/path.ts";
import { checkProperty } from "./property_runs.ts";

const encodedBytes = (text: string): number => new TextEncoder().encode(text).byteLength;

/** Texts built from the pieces that path attacks are made of. */
const hostileText = fc.array(
  fc.oneof(
    fc.constantFrom(
      "..",
      ".",
      "/",
      "\\",
      "a",
      "C:",
      "%2e",
      "~",
      " ",
      "\0",
      "\u202e",
      "\u2028",
      "\ud800",
      "é",
      "．",
      "...",
    ),
    fc.string({ unit: "binary", maxLength: 4 }),
  ),
  { maxLength: 12 },
).map((pieces) => pieces.join(""));

Deno.test("parseFilePath() accepts only paths strictly below the root", () =>
  checkProperty(
    "paths strictly below the root",
    fc.property(hostileText, (text) => {
      const parsed = parseFilePath(text);
      if (!parsed.ok) return;
      const { segments } = parsed.value;
      assert.ok(segments.length > 0);
      const resolved = posix.resolve("/w", ...segments);
      assert.equal(resolved, `/w/${segments.join("/")}`);
      assert.equal(posix.resolve("/w", text), resolved, "the text itself means the same");
    }),
  ));

Deno.test("parsing is idempotent", () =>
  checkProperty(
    "parsing is idempotent",
    fc.property(hostileText, (text) => {
      for (const parse of [parseFilePath, parseDirectoryPath]) {
        const first = parse(text);
        if (first.ok) assert.deepEqual(parse(first.value.text), first);
      }
    }),
  ));

Deno.test("an accepted path is well formed, free of control characters and within its limits", () =>
  checkProperty(
    "accepted paths",
    fc.property(hostileText, (text) => {
      const parsed = parseDirectoryPath(text);
      if (!parsed.ok) return;
      assert.ok(parsed.value.text.isWellFormed());
      assert.doesNotMatch(parsed.value.text, /[\p{Cc}\u2028\u2029\\]/u);
      assert.ok(encodedBytes(parsed.value.text) <= maxPathBytes);
      for (const segment of parsed.value.segments) {
        assert.ok(!["", ".", ".."].includes(segment) && !segment.includes("/"));
        assert.ok(encodedBytes(segment) <= maxNameBytes);
      }
    }),
  ));

const refused: readonly (readonly [string, string])[] = [
  ["", "empty"],
  ["..", "leaves_workspace"],
  ["a/..", "leaves_workspace"],
  ["a/../b", "leaves_workspace"],
  ["../a", "leaves_workspace"],
  ["./C:", "leaves_workspace"],
  [".//C:a/b", "leaves_workspace"],
  ["/", "leaves_workspace"],
  ["//server/share", "leaves_workspace"],
  ["/a", "leaves_workspace"],
  ["a\\b", "leaves_workspace"],
  ["..\\a", "leaves_workspace"],
  ["C:", "leaves_workspace"],
  ["c:a", "leaves_workspace"],
  ["../a\0b", "leaves_workspace"],
  ["a\0b", "control_character"],
  ["a\n", "control_character"],
  ["a\u007f", "control_character"],
  ["a\u009b2J", "control_character"],
  ["a\u2028b", "control_character"],
  ["\ud800", "not_unicode"],
  ["a\udc00b", "not_unicode"],
  ["a/", "trailing_slash"],
  ["a/.", "trailing_slash"],
  [".", "trailing_slash"],
  [".portcullis", "reserved"],
  ["./.portcullis/x", "reserved"],
  [".Portcullis/x", "reserved"],
  ["a".repeat(256), "name_too_long"],
  ["é".repeat(128), "name_too_long"],
  ["a/".repeat(2048) + "a", "path_too_long"],
  ["a/".repeat(512) + "a", "path_too_long"],
  ["é/".repeat(1500) + "a", "path_too_long"],
];

for (const [text, rule] of refused) {
  Deno.test(`parseFilePath() refuses ${JSON.stringify(text).slice(0, 40)}: ${rule}`, () => {
    assert.deepEqual(parseFilePath(text), { ok: false, error: rule });
  });
}

const accepted: readonly (readonly [string, string])[] = [
  ["a..b", "a..b"],
  ["..a", "..a"],
  ["...", "..."],
  ["./a", "a"],
  ["s/./t//u", "s/t/u"],
  ["ab:c", "ab:c"],
  ["~/a", "~/a"],
  ["%2e%2e/a", "%2e%2e/a"],
  [" a ", " a "],
  ["-rf", "-rf"],
  ["\u200ba", "\u200ba"],
  ["cafe\u0301", "cafe\u0301"],
  ["sub/.portcullis", "sub/.portcullis"],
  ["a".repeat(255), "a".repeat(255)],
];

for (const [text, canonical] of accepted) {
  Deno.test(`parseFilePath() accepts ${JSON.stringify(text).slice(0, 40)}, unchanged but for redundant segments`, () => {
    const parsed = parseFilePath(text);
    assert.equal(parsed.ok && parsed.value.text, canonical);
  });
}

Deno.test("parseDirectoryPath() takes the empty text and a dot for the root, and a slash at the end", () => {
  for (const [text, canonical] of [["", ""], [".", ""], ["./", ""], ["a/", "a"], ["a/.", "a"]] as const) {
    const parsed = parseDirectoryPath(text);
    assert.equal(parsed.ok && parsed.value.text, canonical);
  }
});

Deno.test("newNameProblem() refuses names that mislead or that other systems read differently", () => {
  const problems: readonly (readonly [string, ReturnType<typeof newNameProblem>])[] = [
    ["gpj\u202eexe", "invisible_character"],
    ["a\u200bb", "invisible_character"],
    ["a\u00adb", "invisible_character"],
    ["\ufeffa", "invisible_character"],
    ["a\u3164", "invisible_character"],
    ["a\u{e0041}", "invisible_character"],
    ["a:b", "colon"],
    ["a.", "trailing_dot_or_blank"],
    ["a ", "trailing_dot_or_blank"],
    ["a\u00a0", "trailing_dot_or_blank"],
    ["NUL", "device_name"],
    ["nul.txt", "device_name"],
    ["Com1", "device_name"],
    ["COM¹", "device_name"],
    ["lpt9.a.b", "device_name"],
    ["aux .txt", "device_name"],
    ["CONIN$", "device_name"],
    ["a..b", null],
    [".env", null],
    ["console.log", null],
    ["com10", null],
    ["日本語", null],
    ["❤️.txt", null],
    ["-rf", null],
  ];
  for (const [name, expected] of problems) assert.equal(newNameProblem(name), expected, JSON.stringify(name));
});

Deno.test("compareNames() orders like the UTF-8 bytes of the names", async () => {
  const name = fc.string({
    unit: fc.constantFrom("a", "b", "é", "\ud7ff", "\ue000", "\uffee", "😀", "𐀀", "~"),
    maxLength: 4,
  });
  await checkProperty(
    "the order of names",
    fc.property(name, name, (a, b) => {
      const [left, right] = [a, b].map((text) => new TextEncoder().encode(text).toHex());
      const expected = left === right ? 0 : (left ?? "") < (right ?? "") ? -1 : 1;
      assert.equal(Math.sign(compareNames(a, b)), expected);
    }),
  );
});
