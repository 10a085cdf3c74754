import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { RE2JS } from "re2js";
import type { ByteText } from "../../src/files/text/finder.ts";
import { toByteText } from "../../src/files/text/search_file.ts";
import { createLinePattern } from "../../src/files/text/line_pattern.ts";
import type { LongLineMatch, LongLineSearch } from "../../src/files/text/long_line.ts";
import { type LineMatch, searchText } from "../../src/files/text/search_text.ts";

function bytesOf(text: string): ByteText {
  const bytes = Buffer.from(text);
  return toByteText(bytes, bytes.length) ?? assert.fail("not text");
}

const piece = fc.constantFrom("a", "b", "ab", "\n", "\n", " ", "é", "\r");
const texts = fc.array(piece, { maxLength: 200 }).map((pieces) => pieces.join(""));

for (const query of ["ab", "^a", "b$", "a*", "\\s", "[^a]", "^$", "(ab)+"]) {
  Deno.test(`searchText() finds the lines that match ${query}, as a test of each line does`, async () => {
    const pattern = await createLinePattern({ text: query, isRegularExpression: true, ignoreCase: false });
    assert.ok(pattern.ok);
    const expression = new RegExp(query);
    fc.assert(
      fc.property(texts, fc.nat(5), (text, afterLine) => {
        const found = Array.from(
          searchText(bytesOf(text), { pattern: pattern.value, contextLines: 1, firstLine: 1, afterLine }),
        )
          .flatMap(({ matches }) => matches);
        const lines = text.split("\n");
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

Deno.test("searchText() searches long texts in stretches that join, and shows long lines around the match", async () => {
  const pattern = await createLinePattern({ text: "needle", isRegularExpression: false, ignoreCase: false });
  assert.ok(pattern.ok);
  const line = `${"😀".repeat(3000)}needle${"x".repeat(9000)}`;
  const text = `${"short\n".repeat(50_000)}${line}\n${"short\n".repeat(50_000)}needle`;
  const bytes = bytesOf(text);
  const stretches = Array.from(
    searchText(bytes, { pattern: pattern.value, contextLines: 0, firstLine: 1, afterLine: 0 }),
  );
  assert.ok(stretches.length > 5);
  assert.equal(stretches.at(-1)?.end, bytes.characters.length);
  const matches = stretches.flatMap((stretch) => stretch.matches);
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
  const { stepCharacters, find, searchLong } = pattern.value;
  assert.ok(stepCharacters < 2_000, `${stepCharacters} characters a step, for some 250 instructions`);
  const lines: number[] = [];
  // every line is a candidate, as where the automaton cannot tell
  const allLines = {
    ...pattern.value,
    findCandidate: (_characters: string, from: number, to: number) => from < to ? from : -1,
    find(line: string): number {
      lines.push(line.length);
      return find(line);
    },
    searchLong() {
      const search = searchLong();
      return {
        get isUnsure() {
          return search.isUnsure;
        },
        *feed(piece: string, isEnd: boolean) {
          const steps = search.feed(piece, isEnd);
          for (let step = steps.next();; step = steps.next()) {
            lines.push(stepCharacters);
            if (step.done) return step.value;
            yield;
          }
        },
      };
    },
  };
  const text = bytesOf(`${"a".repeat(200)}\n`.repeat(200) + `${"a".repeat(1_000_000)}c`);
  let seen = 0;
  const found: LineMatch[] = [];
  for (const { matches } of searchText(text, { pattern: allLines, contextLines: 0, firstLine: 1, afterLine: 0 })) {
    found.push(...matches);
    const ofStretch = lines.slice(seen);
    seen = lines.length;
    const searched = ofStretch.reduce((sum, length) => sum + Math.min(length, stepCharacters), 0);
    assert.ok(searched <= 2 * stepCharacters, `${searched} characters in one stretch`);
  }
  assert.ok(seen > 215);
  assert.deepEqual(found.map(({ line, text }) => [line, text.endsWith("ac")]), [[201, true]]);
});

Deno.test("screens and automata that cannot tell lines apart leave them to the expression", async () => {
  const lines = Array.from(
    { length: 20_000 },
    (_, n) => `${n % 2 ? "abba" : "the x"} ${(n * 7919).toString(2)} y${n} é`,
  );
  const text = lines.join("\n");
  for (const query of ["the\\s+x 1", "x", "(0|1)*1(0|1){14} y\\d*0 é", "\\w+\\s[a-z] 1+0", "(?i)ABBA.*Y1\\d+9 É"]) {
    const pattern = await createLinePattern({ text: query, isRegularExpression: true, ignoreCase: false });
    assert.ok(pattern.ok, query);
    const options = { pattern: pattern.value, contextLines: 0, firstLine: 1, afterLine: 0 };
    const found = Array.from(searchText(bytesOf(text), options)).flatMap(({ matches }) => matches);
    const expression = query.startsWith("(?i)") ? new RegExp(query.slice(4), "i") : new RegExp(query);
    const expected = lines.flatMap((line, index) => expression.test(line) ? [index + 1] : []);
    assert.ok(expected.length > 10 && expected.length < lines.length, `${query}: ${expected.length}`);
    assert.deepEqual(found.map(({ line }) => line), expected, query);
  }
});

function drain(search: LongLineSearch, piece: string, isEnd: boolean): LongLineMatch | null {
  const steps = search.feed(piece, isEnd);
  for (let step = steps.next();; step = steps.next()) if (step.done) return step.value;
}

Deno.test("a long line that the automaton cannot judge is searched in parts, and what may be missed is said", async () => {
  const random = Array.from({ length: 100_000 }, (_, n) => (n * 7919 * 31 ^ n >> 3) % 7 < 3 ? "a" : "b").join("");
  const found = async (text: string, line: string): Promise<readonly [number[], number[]]> => {
    const pattern = await createLinePattern({ text, isRegularExpression: true, ignoreCase: false });
    assert.ok(pattern.ok);
    const options = { pattern: pattern.value, contextLines: 0, firstLine: 1, afterLine: 0 };
    const stretches = Array.from(searchText(bytesOf(`short\n${line}\nab\n`), options));
    return [
      stretches.flatMap(({ matches }) => matches.map(({ line }) => line)),
      stretches.flatMap(({ unsure }) => unsure),
    ];
  };
  assert.deepEqual(await found("a(a|b){14}x", `${random}abbbbbbbbbbbbbbxb`), [[2], []]);
  assert.deepEqual(await found("a(a|b){14}b$", `${random}abbbbbbbbbbbbbbb`), [[2], []]);
  assert.deepEqual(await found("a(a|b){14}x$", `${random}abbbbbbbbbbbbbbxb`), [[], [2]]);
  assert.deepEqual(await found("^b(a|b)*a(a|b){14}x", `b${random}abbbbbbbbbbbbbbx`), [[], [2]]);
  assert.deepEqual(await found("a(a|b){13}y.*a(a|b){14}x", `aabbbbbbbbbbbbby${random}abbbbbbbbbbbbbbx`), [[], [2]]);
});

Deno.test("searchText() finds the lines that match a random expression, as RE2 does in each line", async () => {
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
        const options = { pattern: pattern.value, contextLines: 0, firstLine: 1, afterLine: 0 };
        const found = Array.from(searchText(bytesOf(`${each.join("\n")}\n`), options)).flatMap(({ matches }) =>
          matches
        );
        const expected = each.flatMap((line, index) => expression.matcher(line).find() ? [index + 1] : []);
        matched += expected.length;
        assert.deepEqual(found.map(({ line }) => line), expected, text);
        for (const [index, line] of each.entries()) {
          const search: LongLineSearch = pattern.value.searchLong();
          const cut = line.slice(0, at % (line.length + 1));
          const match: LongLineMatch | null = drain(search, Buffer.from(cut).toString("latin1"), false) ??
            drain(search, Buffer.from(line.slice(cut.length)).toString("latin1"), true);
          if (!search.isUnsure) assert.equal(match !== null, expected.includes(index + 1), `${text} in two: ${line}`);
        }
      },
    ),
    { numRuns: 3000 },
  );
  assert.ok(matched > 500, `${matched} lines`);
});
