import assert from "node:assert/strict";
import fc from "fast-check";
import {
  fileUriTemplate,
  fromTemplateValue,
  parseFilePath,
  parseFileUri,
  toFileUri,
  toTemplateValue,
  type WorkspacePath,
} from "../../src/files/workspace/path.ts";
import { hostileUris } from "../resources/hostile_uris.ts";

function pathOf(text: string): WorkspacePath {
  const parsed = parseFilePath(text);
  return parsed.ok ? parsed.value : assert.fail(`${text}: ${parsed.error}`);
}

/** RFC 6570 §3.2.3, for one value: reserved and unreserved characters and triplets pass, all else is encoded. */
function expand(value: string): string {
  const encoded = value.replace(
    /%[0-9a-f]{2}|[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|./gisu,
    (each) =>
      each.length === 3 && each.startsWith("%") || /^[!-~]$/.test(each) && !/["%<>\\^`{|}]/.test(each)
        ? each
        : encodeURIComponent(each),
  );
  return fileUriTemplate.replace("{+path}", encoded);
}

const examples: readonly [path: string, uri: string, value: string][] = [
  ["a.txt", "workspace:///a.txt", "a.txt"],
  ["d/e/f", "workspace:///d/e/f", "d/e/f"],
  ["a b.txt", "workspace:///a%20b.txt", "a b.txt"],
  ["Grüße/日本.md", "workspace:///Gr%C3%BC%C3%9Fe/%E6%97%A5%E6%9C%AC.md", "Grüße/日本.md"],
  ["a&b=c,d;e+f$g@h:i!j'k(l)*~", "workspace:///a&b=c,d;e+f$g@h:i!j'k(l)*~", "a&b=c,d;e+f$g@h:i!j'k(l)*~"],
  ["what?.txt", "workspace:///what%3F.txt", "what%3F.txt"],
  ["a#b[1]", "workspace:///a%23b%5B1%5D", "a%23b%5B1%5D"],
  ["100%", "workspace:///100%25", "100%"],
  ["100%25", "workspace:///100%2525", "100%2525"],
  ['{x}|^`"<>', "workspace:///%7Bx%7D%7C%5E%60%22%3C%3E", '{x}|^`"<>'],
  ["...", "workspace:///...", "..."],
];

Deno.test("a file's address follows RFC 3986 §3.3, and its value expands to it by RFC 6570 §3.2.3", () => {
  for (const [text, uri, value] of examples) {
    const path = pathOf(text);
    assert.equal(toFileUri(path), uri);
    assert.equal(parseFileUri(uri)?.text, text);
    assert.equal(toTemplateValue(path), value);
    assert.equal(expand(value), uri);
    assert.equal(fromTemplateValue(value), text);
  }
});

const equivalents: readonly [uri: string, path: string][] = [
  ["workspace:///%78", "x"],
  ["workspace:///gr%c3%bc%C3%9fe", "grüße"],
  ["workspace:///grüße", "grüße"],
  ["workspace:///a b", "a b"],
  ["workspace:///a%26b", "a&b"],
  ["workspace:///uri/sp%20ace%2Bplus.txt", "uri/sp ace+plus.txt"],
  ["workspace:///a%28b%29%2A%7e", "a(b)*~"],
  ["workspace:///a%2Etxt", "a.txt"],
  ["WorkSpace:///x", "x"],
  ["workspace:///a%3Fb%23c", "a?b#c"],
  ['workspace:///{x}|^`"<>[]', '{x}|^`"<>[]'],
  [new URL("workspace:///d/Ü (1)+.txt").href, "d/Ü (1)+.txt"],
];

Deno.test("equivalent URIs name one file (RFC 3986 §6.2.2)", () => {
  for (const [uri, text] of equivalents) assert.equal(parseFileUri(uri)?.text, text, uri);
});

Deno.test("what is equivalent to no address of a path is nobody's", () => {
  for (const uri of hostileUris) assert.equal(parseFileUri(uri), null, uri.slice(0, 60));
});

Deno.test("every path has one address, which leads back to it, and one value of the template", () => {
  const name = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[%?#[\]a0-9./]{1,8}$/));
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (names) => {
      const parsed = parseFilePath(names.join("/"));
      if (!parsed.ok) return;
      const uri = toFileUri(parsed.value);
      assert.deepEqual(parseFileUri(uri), parsed.value);
      assert.match(uri, /^workspace:\/\/\/(?:[\w\-.~!$&'()*+,;=:@/]|%[0-9A-F]{2})+$/);
      const value = toTemplateValue(parsed.value);
      assert.equal(expand(value), uri);
      assert.equal(fromTemplateValue(value), parsed.value.text);
    }),
    { numRuns: 10_000 },
  );
});

Deno.test("a text that is taken for an address leads to one path, whose address leads there too", () => {
  const piece = fc.constantFrom("a", "/", "..", ".", "%2e", "%2F", "%41", "%00", "?", "#", "\\", "%", "ü", "%C3%BC");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const uri = `workspace:///${pieces.join("")}`;
      const path = parseFileUri(uri);
      if (path === null) return;
      assert.equal(parseFileUri(toFileUri(path))?.text, path.text);
      assert.ok(path.segments.every((segment) => segment !== ".." && segment !== "." && !/[/\0]/.test(segment)));
    }),
    { numRuns: 10_000 },
  );
});
