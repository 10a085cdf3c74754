/** Searches of any files, in pages of any size, against a look at each line. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import type { LineMatch } from "../../src/files/text/search_file.ts";
import { answerOf, withWorkspace } from "./with_workspace.ts";

type Found = LineMatch & { readonly filename: string };

const word = "[\\p{L}\\p{N}\\p{M}_]";
const queries: readonly (readonly [request: Record<string, unknown>, reference: RegExp])[] = [
  [{ query: "hit" }, /hit/],
  [{ query: "HIT", ignore_case: true }, /[Hh]it/],
  [{ query: "hit", whole_word: true }, new RegExp(`(?<!${word})hit(?!${word})`, "u")],
  [{ query: "^foo.*hit", regex: true }, /^foo.*hit/],
  [{ query: "hit$", regex: true }, /hit$/],
  [{ query: "[é-ü]\\s*x", regex: true }, /[é-ü]\s*x/],
  [{ query: "\\bbar\\b", regex: true }, /\bbar\b/],
  [{ query: "^$", regex: true }, /^$/],
];

const part = fc.tuple(
  fc.constantFrom("hit", "x", "é", "\u{1f600}", "foo ", "bar", "Hit", "1", " "),
  fc.oneof({ weight: 9, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(900) }),
).map(([text, times]) => text.repeat(times));
const line = fc.array(part, { maxLength: 5 }).map((parts) => parts.join(""));
const file = fc.record(
  {
    lines: fc.array(line, { maxLength: 30 }),
    lineEnd: fc.constantFrom("\n", "\r\n"),
    end: fc.boolean(),
    mark: fc.boolean(),
    encoding: fc.constantFrom("utf8", "utf8", "utf16le"),
  } as const,
);

Deno.test("the pages of a search join to what a look at each line finds, with its columns and lines around", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(file, { minLength: 1, maxLength: 4 }),
      fc.constantFrom(64, 131, 997, 4_096),
      fc.constantFrom(1, 2, 5, 100),
      fc.constantFrom(0, 1, 3),
      (files, maxReadBytes, limit, context) =>
        withWorkspace(async ({ root, workspace }) => {
          const lines: Record<string, readonly string[]> = {};
          for (const [index, { lines: own, lineEnd, end, mark, encoding }] of files.entries()) {
            const text = own.join(lineEnd) + (end ? lineEnd : "");
            const there = text.split(/\r?\n/);
            lines[`f${index}`] = there.at(-1) === "" ? there.slice(0, -1) : there;
            const isMarked = mark || encoding === "utf16le";
            Deno.writeFileSync(`${root}/f${index}`, Buffer.from(`${isMarked ? "\ufeff" : ""}${text}`, encoding));
          }
          const search = fileSearchTool(() => workspace);
          for (const [request, reference] of queries) {
            const expected = Object.entries(lines).flatMap(([name, own]) =>
              own.flatMap((text, index) => reference.test(text) ? [`${name}:${index + 1}`] : [])
            );
            const found: Found[] = [];
            let more: Record<string, unknown> | null = {};
            while (more !== null && found.length <= expected.length) {
              const { structured } = await answerOf(search, { ...request, limit, context, ...more });
              found.push(...structured["matches"] as Found[]);
              const cursor: unknown = structured["next_cursor"];
              more = cursor === undefined ? null : { cursor };
            }
            assert.deepEqual(found.map(placeOf), expected, JSON.stringify(request));
            for (const match of found) checkShown(match, lines[match.filename] ?? [], context);
            const columned = found.find(({ column }) => column !== undefined);
            if (columned?.column !== undefined) {
              const place = `${placeOf(columned)}:${columned.column}-${columned.column + 3}`;
              const { structured } = await answerOf(fileReadTool(() => workspace), { filename: place });
              const whole = Array.from(lines[columned.filename]?.[columned.line - 1] ?? "");
              assert.equal(structured["content"], whole.slice(columned.column - 1, columned.column + 3).join(""));
            }
            const last = await answerOf(search, { ...request, last: true, limit });
            assert.deepEqual((last.structured["matches"] as Found[]).map(placeOf), expected.slice(-limit));
            const counted = await answerOf(search, { ...request, show: "count" });
            assert.equal(counted.structured["lines"], expected.length);
            if (reference.source !== "hit") continue;
            const all = Object.values(lines).flat().map((text) => text.match(/hit/g)?.length ?? 0);
            assert.equal(counted.structured["hits"], all.reduce((sum, count) => sum + count, 0));
          }
        }, { limits: { maxReadBytes } }),
    ),
    { numRuns: 15 },
  );
});

Deno.test("a page after a file was changed loses none of its lines, and says that it begins anew", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    const write = (from: number): void =>
      Deno.writeTextFileSync(`${root}/a`, Array.from({ length: 40 - from }, (_, n) => `hit ${n + from}\n`).join(""));
    Deno.writeTextFileSync(`${root}/b`, "hit b\n");
    for (const [before, after] of [[0, 0], [0, 15], [10, 0], [0, 39]] as const) {
      write(before);
      const first = await answerOf(search, { query: "hit", limit: 20 });
      if (after !== before) write(after);
      const { text, structured } = await answerOf(search, {
        ...{ query: "hit", limit: 100, cursor: first.structured["next_cursor"] },
      });
      const found = [first.structured, structured].flatMap(({ matches }) => matches as Found[]).map(({ text }) => text);
      const rest = await answerOf(search, { query: "hit", limit: 100 });
      for (const { text: line } of rest.structured["matches"] as Found[]) assert.ok(found.includes(line), line);
      assert.equal(/\(a has changed since the page before/.test(text), after !== before, text);
      if (after === before) assert.equal(new Set(found).size, found.length);
    }
  }));

function placeOf({ filename, line }: Found): string {
  return `${filename}:${line}`;
}

function checkShown({ line, text, before = [], after = [] }: Found, lines: readonly string[], context: number): void {
  assert.ok(lines[line - 1]?.includes(text.replace(/^…\ufffd?/, "").replace(/\ufffd?…$/, "")), text);
  const starts = (texts: readonly string[]): string[] => texts.map((each) => each.slice(0, 12));
  assert.deepEqual(starts(before), starts(lines.slice(Math.max(0, line - 1 - context), line - 1)));
  assert.deepEqual(starts(after), starts(lines.slice(line, line + context)));
}
