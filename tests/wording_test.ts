/**
 * Plain English: words that have a plainer one in every sentence stay out of what people read, and out of the sources.
 * Phrases that are right in some sentences ("stands on", "takes back") are for an editor, not for a list.
 */
import assert from "node:assert/strict";
import { sourceFiles } from "./fixtures/source_files.ts";

const root = new URL("..", import.meta.url);

/** Each with what to write in its place. */
const awkward: readonly (readonly [words: RegExp, instead: string])[] = [
  [/\bwhoever\b/gi, "the caller, a client, an operator"],
  [/\b(?:some|no|any|every)body\b/gi, "a caller, no client, any user, everyone"],
];

function foundIn(texts: ReadonlyMap<string, string>): string[] {
  return [...texts].flatMap(([file, text]) =>
    text.split("\n").flatMap((line, index) =>
      awkward.filter(([words]) => line.search(words) >= 0)
        .map(([, instead]) => `${file}:${index + 1}: ${line.trim()} (write: ${instead})`)
    )
  );
}

function pages(): ReadonlyMap<string, string> {
  const inDocs = Array.from(Deno.readDirSync(new URL("docs", root)), ({ name }) => `docs/${name}`);
  const files = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", ...inDocs];
  return new Map(
    files.filter((file) => file.endsWith(".md")).map((file) => [file, Deno.readTextFileSync(new URL(file, root))]),
  );
}

Deno.test("wording: documentation is free of the awkward words", () => {
  const texts = pages();
  assert.ok(texts.size > 10);
  assert.deepEqual(foundIn(texts), []);
});

Deno.test("wording: pages, help, messages and comments are free of the awkward words", () => {
  const texts = sourceFiles("src");
  assert.ok(texts.size > 200);
  assert.deepEqual(foundIn(texts), []);
});

Deno.test("wording: names of tests say behaviour, and carry no codes of lists elsewhere", () => {
  const coded =
    /^\s*(?:\S*[tT]est\(|(?:await )?\w+\.step\(|name:)?\s*["`][A-Z]{1,2}\d{1,2}(?:[,/] ?[A-Z]?\d{1,2})*: /gm;
  const found = [...sourceFiles("tests")].flatMap(([file, text]) =>
    [...text.matchAll(coded)].map(([name]) => `${file}: ${name.trim()}`)
  );
  assert.deepEqual(found, []);
});

Deno.test("wording: what connects is a client on every page and in the terminal; an agent is the model behind it", () => {
  // a provider registers this server as an application, and a native application has a scheme of its own (RFC 8252 §7.1)
  const other =
    /(?<!groups of )\b(?:an?|the|this|your|which|no|how to connect an?) (?:applications?|agents?)\b(?!'s own)/gi;
  const where = /^src\/(?:oauth\/|http\/home|cli\/(?:connect|welcome|client_file)|lib\/(?:connect_card|client_conf))/;
  const texts = [...sourceFiles("src")].filter(([file]) => where.test(file));
  assert.ok(texts.length > 30);
  const found = texts.flatMap(([file, text]) =>
    text.split("\n").filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line) && line.search(other) >= 0).map((line) =>
      `${file}: ${line.trim()}`
    )
  );
  assert.deepEqual(found, []);
});
