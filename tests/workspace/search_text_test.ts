import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { RE2JS } from "re2js";
import type { ByteText } from "../../src/files/text/finder.ts";
import { type LineMatch, searchLines, toByteText } from "../../src/files/text/search_file.ts";
import { createLinePattern, type LinePattern } from "../../src/files/text/line_pattern.ts";

function bytesOf(text: string): ByteText {
  return toByteText(Buffer.from(text)) ?? assert.fail("not text");
}

/** The matches in a text, and the lines in which one may have been missed. */
async function searchText(
  text: string,
  pattern: LinePattern,
  { contextLines = 0, afterLine = 0, onStep = () => {}, bytes = bytesOf(text) } = {},
): Promise<{ readonly matches: readonly LineMatch[]; readonly unsure: readonly number[] }> {
  const matches: LineMatch[] = [];
  const unsure: number[] = [];
  await searchLines(bytes, {
    ...{ pattern, contextLines, afterLine, firstLine: 1, to: bytes.characters.length },
    onMatch: (match) => matches.push(match) < 0,
    onUnsure: (line) => void unsure.push(line),
    nextTurn: () => onStep() ?? undefined,
    isOver: () => false,
    mayStopAtOnce: false,
  });
  return { matches, unsure };
}

const piece = fc.constantFrom("a", "b", "ab", "\n", "\n", " ", "é", "\r");
const texts = fc.array(piece, { maxLength: 200 }).map((pieces) => pieces.join(""));

for (const query of ["ab", "^a", "b$", "a*", "\\s", "[^a]", "^$", "(ab)+"]) {
  Deno.test(`searchLines() finds the lines that match ${query}, as a test of each line does`, async () => {
    const pattern = await createLinePattern({ text: query, isRegularExpression: true, ignoreCase: false });
    assert.ok(pattern.ok);
    const expression = new RegExp(query);
    await fc.assert(
      fc.asyncProperty(texts, fc.nat(5), async (text, afterLine) => {
        const { matches: found } = await searchText(text, pattern.value, { contextLines: 1, afterLine });
        const lines = text.replaceAll("\r\n", "\n").split("\n");
        if (lines.at(-1) === "") lines.pop(); // the end of the last line starts no other
        const expected = lines.map((line, index) => ({ line, number: index + 1 })).filter(({ line, number }) =>
          number > afterLine && expression.test(line)
        );
        assert.deepEqual(found.map(({ line, text: shown }) => ({ line: shown, number: line })), expected);
        for (const { line, before, after } of found) {
          assert.deepEqual(before, lines.slice(Math.max(0, line - 2), line - 1));
          assert.deepEqual(after, lines.slice(line, line + 1));
        }
      }),
      { numRuns: 300 },
    );
  });
}

for (const query of ["(b)", "^$", "[^x]{3}y|b", "(b)$"]) {
  Deno.test(`searchLines() looks at short lines a few times, and in steps, for ${query}`, async () => {
    const text = `${"a\n".repeat(255)}b\n`.repeat(400);
    const pattern = await createLinePattern({ text: query, isRegularExpression: true, ignoreCase: false });
    assert.ok(pattern.ok);
    let [decoded, steps] = [0, 0];
    const { characters, decode } = bytesOf(text);
    const bytes = {
      characters,
      decode(from: number, to: number): string {
        decoded += to - from;
        return decode(from, to);
      },
    };
    const { matches } = await searchText(text, pattern.value, { bytes, onStep: () => void steps++ });
    assert.equal(matches.length, query === "^$" ? 0 : 400);
    assert.ok(decoded < 9 * text.length, `${decoded} of ${text.length} characters`);
    assert.ok(query === "^$" || steps > 20, `${steps} steps`);
  });
}

Deno.test("searchLines() searches long texts in steps that join, and shows long lines around the match", async () => {
  const pattern = await createLinePattern({ text: "needle", isRegularExpression: false, ignoreCase: false });
  assert.ok(pattern.ok);
  const line = `${"😀".repeat(3000)}needle${"x".repeat(9000)}`;
  const text = `${"short\n".repeat(50_000)}${line}\n${"short\n".repeat(50_000)}needle`;
  let steps = 0;
  const { matches } = await searchText(text, pattern.value, { onStep: () => void steps++ });
  assert.ok(steps > 5);
  assert.deepEqual(matches.map((match) => match.line), [50_001, 100_002]);
  assert.ok(matches[0]?.text.includes("needle") && matches[0].text.length < 510 && matches[0].text.isWellFormed());
});

Deno.test("createLinePattern() refuses expressions that would take long to compile or to match", async () => {
  const reason = async (text: string): Promise<string> => {
    const pattern = await createLinePattern({ text, isRegularExpression: true, ignoreCase: false });
    return pattern.ok ? "accepted" : pattern.error.reason;
  };
  assert.equal(await reason(".{0,1000}".repeat(20)), "too_complex");
  assert.equal(await reason("(?:a?){400}"), "too_complex");
  assert.equal(await reason("a{2000}"), "invalid_expression");
  assert.equal(await reason("a".repeat(251)), "too_long");
  assert.equal(await reason("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "accepted");
  assert.equal(await reason("(?i)todo|fixme\\b.*"), "accepted");
});

Deno.test("the worst expressions that are accepted search a megabyte in short steps, long lines too", async () => {
  const worst = "(?:a?){80}a{80}[c-e]";
  const pattern = await createLinePattern({ text: worst, isRegularExpression: true, ignoreCase: false });
  assert.ok(pattern.ok);
  const { stepCharacters, next } = pattern.value;
  assert.ok(stepCharacters < 2_000, `${stepCharacters} characters a step, for some 250 instructions`);
  let searched = 0;
  let longest = 0;
  // every line is a candidate, as where the expression cannot tell
  const allLines = {
    ...pattern.value,
    findCandidate: (_lines: ByteText, from: number, to: number) => from < to ? from : -1,
    next(line: string, from: number) {
      searched += line.length - from;
      return next(line, from);
    },
  };
  const text = `${"a".repeat(200)}\n`.repeat(200) + `${"a".repeat(100_000)}c`;
  const onStep = (): void => {
    longest = Math.max(longest, searched);
    searched = 0;
  };
  const { matches } = await searchText(text, allLines, { onStep });
  assert.ok(longest > 0 && longest <= 2 * stepCharacters, `${longest} characters in one step`);
  assert.deepEqual(matches.map(({ line, text }) => [line, text.endsWith("ac")]), [[201, true]]);
});

Deno.test("what an expression finds in several lines at once is looked for in each of them", async () => {
  const lines = Array.from(
    { length: 20_000 },
    (_, n) => `${n % 2 ? "abba" : "the x"} ${(n * 7919).toString(2)} y${n} é`,
  );
  const text = lines.join("\n");
  for (const query of ["the\\s+x 1", "x", "(0|1)*1(0|1){14} y\\d*0 é", "\\w+\\s[a-z] 1+0", "(?i)ABBA.*Y1\\d+9 É"]) {
    const pattern = await createLinePattern({ text: query, isRegularExpression: true, ignoreCase: false });
    assert.ok(pattern.ok, query);
    const { matches: found } = await searchText(text, pattern.value);
    const expression = query.startsWith("(?i)") ? new RegExp(query.slice(4), "i") : new RegExp(query);
    const expected = lines.flatMap((line, index) => expression.test(line) ? [index + 1] : []);
    assert.ok(expected.length > 10 && expected.length < lines.length, `${query}: ${expected.length}`);
    assert.deepEqual(found.map(({ line }) => line), expected, query);
  }
});

Deno.test("a line that is longer than a step is searched in parts, and what may be missed is said", async () => {
  const random = Array.from({ length: 100_000 }, (_, n) => (n * 7919 * 31 ^ n >> 3) % 7 < 3 ? "a" : "b").join("");
  const found = async (text: string, line: string): Promise<readonly [number[], readonly number[]]> => {
    const pattern = await createLinePattern({ text, isRegularExpression: true, ignoreCase: false });
    assert.ok(pattern.ok);
    const { matches, unsure } = await searchText(`short\n${line}\nab\n`, pattern.value);
    return [matches.map(({ line }) => line), unsure];
  };
  assert.deepEqual(await found("a(a|b){14}x", `${random}abbbbbbbbbbbbbbxb`), [[2], []]);
  assert.deepEqual(await found("a(a|b){14}b$", `${random}abbbbbbbbbbbbbbb`), [[2], []]);
  assert.deepEqual(await found("a(a|b){14}x$", `${random}abbbbbbbbbbbbbbxb`), [[], []]); // shorter than the overlap
  assert.deepEqual(await found("^b(a|b)*a(a|b){14}x", `b${random}abbbbbbbbbbbbbbx`), [[], [2]]);
  assert.deepEqual(await found("a(a|b){13}y.*a(a|b){14}x", `aabbbbbbbbbbbbby${random}abbbbbbbbbbbbbbx`), [[], [2]]);
});

Deno.test("searchLines() finds the lines that match a random expression, as RE2 does in each line", async () => {
  const piece = fc.constantFrom(
    ..."abc|()[]{}*+?^$.-,12\\".split(""),
    ...[
      "a",
      "b",
      "ab",
      "(a",
      "(?:b",
      ")?",
      ")*",
      "a{2}",
      "b{0,1}",
      "[^a]",
      "[ab-]",
      "\\.",
      "\\d",
      "\\x61",
      "\\pL",
      "\\Qa",
    ],
    ...[
      "(?i)",
      "(?i:k)",
      "(?P<n>a)",
      "\\b",
      "\\B",
      "??",
      "+?",
      "\\A",
      "\\z",
      "é",
      "[^\\x00-\\x7f]",
      "(?s:.)",
      "\\s",
      "\\W",
    ],
  );
  const expressions = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(""));
  const lines = fc.string({ unit: fc.constantFrom(..."abcABCkK12{}-, éÉ\u212a\r".split("")), maxLength: 10 });
  const filler = Array.from({ length: 12 }, (_, n) => `${"-".repeat(70 + n)} ,`);
  let matched = 0;
  await fc.assert(
    fc.asyncProperty(
      expressions,
      fc.array(lines, { minLength: 5, maxLength: 20 }),
      fc.nat(10),
      async (text, some, at) => {
        const each = at === 0 ? [...some, ...filler, ...some] : some;
        const pattern = await createLinePattern({ text, isRegularExpression: true, ignoreCase: false });
        if (!pattern.ok) return;
        const expression = RE2JS.compile(text);
        const { matches: found } = await searchText(`${each.join("\n")}\n`, pattern.value);
        const expected = each.flatMap((line, index) => {
          const seen = pattern.value.seesReturns ? line : line.replace(/\r$/, "");
          return expression.matcher(seen).find() ? [index + 1] : [];
        });
        matched += expected.length;
        assert.deepEqual(found.map(({ line }) => line), expected, text);
      },
    ),
    { numRuns: 3000 },
  );
  assert.ok(matched > 500, `${matched} lines`);
});
