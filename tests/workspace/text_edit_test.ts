import assert from "node:assert/strict";
import fc from "fast-check";
import { differenceOf } from "../../src/files/text/diff.ts";
import { type EditRefusal, replaceText } from "../../src/files/text/edit.ts";

const maxBytes = 1_000_000;

async function replaced(
  text: string,
  oldText: string,
  newText: string,
  options: { all?: boolean; wholeWord?: boolean } = {},
) {
  const { all = false, wholeWord = false } = options;
  const edited = await replaceText(text, { oldText, newText, all, wholeWord }, maxBytes);
  return edited.ok ? edited.value.text : edited.error;
}

Deno.test("replaceText() refuses what is not there, not unique, empty or without effect", async () => {
  const cases: [string, string, EditRefusal][] = [
    ["c", "x", { reason: "not_there", alike: null }],
    ["a", "x", { reason: "not_unique", count: 2, lines: [1, 1] }],
    ["", "x", { reason: "empty_old_text" }],
    ["a", "a", { reason: "same_text" }],
  ];
  for (const [oldText, newText, refusal] of cases) assert.deepEqual(await replaced("a b a", oldText, newText), refusal);
});

Deno.test("replaceText() inserts the new text as it is, without patterns", async () => {
  assert.equal(await replaced("a.b$1", ".b", "$& $1 $$"), "a$& $1 $$$1");
});

Deno.test("replaceText() keeps the file's line ends, whatever the caller types", async () => {
  const cases: [text: string, oldText: string, newText: string, result: string | EditRefusal][] = [
    ["a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"],
    ["a\r\nb\r\nc\r\n", "a\r\nb", "x\ny", "x\r\ny\r\nc\r\n"],
    ["a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"],
    ["a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"],
    ["a\nb\n", "a", "x\r\ny", "x\ny\nb\n"],
    ["a\r\nb\nc\r\nd\n", "a\nb", "x\ny", "x\r\ny\nc\r\nd\n"],
    ["a\r\nb\nc\r\nd\n", "b\nc", "x\ny", "a\r\nx\ny\r\nd\n"],
    ["a\r\nb\nc\n", "a\nb\nc", "x", "x\n"],
    ["a\r\nb\nc\r\n", "a\nb\nc", "a\nb2\nc", "a\r\nb2\nc\r\n"],
    ["[a]\r\n[b]\r\n[c]\nend\r\n", "[c]", "[c]\nx=1", "[a]\r\n[b]\r\n[c]\r\nx=1\nend\r\n"],
    ["[a]\r\n[b]\r\n\n[c]", "[c]", "[c]\nx=1\n", "[a]\r\n[b]\r\n\n[c]\r\nx=1\r\n"],
    ["a\nb\nc\r\n[c]\n", "[c]", "[c]\nx=1", "a\nb\nc\r\n[c]\nx=1\n"],
    ["a\rb\rc\r", "a\nb", "a\nx\nb", "a\rx\rb\rc\r"],
    ["a\rb\rc\r", "b", "b\nx", "a\rb\rx\rc\r"],
    ["a\rb\rc\r", "b\r\nc", "y", "a\ry\r"],
    ["a\rb\nc\n", "a\nb", "x", "x\nc\n"],
    ["50%\r100%\ndone\n", "done", "ok\nend", "50%\r100%\nok\nend\n"],
    ["50%\r100%\ndone\n", "50%\r100%", "x", "x\ndone\n"],
    ["one line", "one", "a\nb", "a\nb line"],
  ];
  for (const [text, oldText, newText, result] of cases) {
    assert.deepEqual(await replaced(text, oldText, newText), result, JSON.stringify([text, oldText]));
  }
});

Deno.test("replaceText() finds its place behind CR, CR and LF, wherever in a long text they are", async () => {
  for (const before of [524_285, 524_286, 524_287, 524_288]) {
    const text = `${"a".repeat(before)}\r\r\ntwo\r\nthree\r\n`;
    assert.equal(await replaced(text, "three", "3"), text.replace("three", "3"), String(before));
  }
});

Deno.test("replaceText() replaces all of a text in either Unicode form, as a search counts them", async () => {
  const [nfc, nfd] = ["caf\u00e9", "cafe\u0301"];
  const text = `${nfc} ${nfd}\r\n${nfd}${nfc} caf\u00e9s ${nfc}\r\n`;
  for (const wanted of [nfc, nfd]) {
    assert.equal(await replaced(text, wanted, "x", { all: true }), "x x\r\nxx xs x\r\n");
    assert.equal(
      await replaced(text, wanted, `${nfc} au\nlait`, { all: true }),
      text.replaceAll(/cafe?\u0301|caf\u00e9/g, `${nfc} au\r\nlait`),
    );
    assert.equal(
      await replaced(text, wanted, "x", { all: true, wholeWord: true }),
      `x x\r\n${nfd}${nfc} caf\u00e9s x\r\n`,
    );
  }
  assert.equal(await replaced(text, nfc, nfd, { all: true }), text.normalize("NFD"));
  const twice = await replaced(`${nfc}\n${nfd}`, nfd, "x");
  assert.deepEqual(twice, { reason: "not_unique", count: 2, lines: [1, 2] });
  assert.equal(await replaced(`${nfc} a\n${nfd} b`, `${nfd} b`, "x"), `${nfc} a\nx`);
});

Deno.test("replaceText() keeps the line ends of the passage in a text of several kinds", async () => {
  const text = "a\r\nb\nc\r\nd\re\rf\n";
  assert.equal(await replaced(text, "d\ne", "D\nx\nE"), "a\r\nb\nc\r\nD\rx\rE\rf\n");
  assert.equal(await replaced(text, "c\nd", "C\nD"), "a\r\nb\nC\r\nD\re\rf\n");
  assert.equal(await replaced(text, "b\nc", "B\nx\nC"), "a\r\nB\nx\nC\r\nd\re\rf\n");
  assert.equal(await replaced(text, "a\nb", "A\nx\nB"), "A\r\nx\r\nB\nc\r\nd\re\rf\n");
});

Deno.test("replaceText() with wholeWord leaves longer words alone", async () => {
  assert.equal(
    await replaced("total totals subtotal total_2 Total total", "total", "sum", { all: true, wholeWord: true }),
    "sum totals subtotal total_2 Total sum",
  );
  assert.equal(await replaced("größe größer", "größe", "x", { wholeWord: true }), "x größer");
  assert.equal(await replaced("x𐐀 x", "x", "y", { wholeWord: true }), "x𐐀 y");
  assert.deepEqual(await replaced("xy", "x", "z", { wholeWord: true }), {
    reason: "not_there",
    alike: { but: "words", line: 1 },
  });
  assert.equal(await replaced("f(a)b xf(a)", "f(a)", "g", { wholeWord: true }), "gb xf(a)"); // as file_search finds it
});

Deno.test("a refusal names the lines of what is there several times, or of what is nearly there", async () => {
  const text = "one two\n\ntwo\n  if (a) {\n    b();\n  }\nSay \u201chello\u201d\ntwo two\nze\u200bro\u00a0nbsp\n";
  const cases: [oldText: string, wholeWord: boolean, refusal: EditRefusal][] = [
    ["two", false, { reason: "not_unique", count: 4, lines: [1, 3, 8, 8] }],
    ["if (a) {\n  b();\n}", false, { reason: "not_there", alike: { but: "form", line: 4 } }],
    ['say "Hello"', false, { reason: "not_there", alike: { but: "form", line: 7 } }],
    ["zero nbsp", false, { reason: "not_there", alike: { but: "form", line: 9 } }],
    ["el", true, { reason: "not_there", alike: { but: "words", line: 7 } }],
    ["if (a) {\n    c();\n  }", false, { reason: "not_there", alike: { but: "rest", line: 4 } }],
    ["two\nthree", false, { reason: "not_there", alike: null }],
    ["4\t  if (a) {\n5\t    b();\n", false, { reason: "not_there", alike: { but: "numbers", line: 4 } }],
    ["4:   if (a) {\n5-     b();", false, { reason: "not_there", alike: { but: "numbers", line: 4 } }],
    ["9\t", false, { reason: "not_there", alike: null }],
    ["Say \u201cgood morning\u201d", false, { reason: "not_there", alike: null }],
  ];
  for (const [oldText, wholeWord, refusal] of cases) {
    assert.deepEqual(await replaced(text, oldText, "x", { wholeWord }), refusal, oldText);
  }
  const many = await replaced("a\n".repeat(100), "a", "x");
  assert.deepEqual(many, { reason: "not_unique", count: 100, lines: [1, 2, 3, 4, 5, 6] });
});

Deno.test("finding whole words takes time proportional to the text, whatever is looked for", async () => {
  const period = "ab ".repeat(2_000);
  assert.deepEqual(await replaced("ab ".repeat(300_000), `${period}a`, "x", { wholeWord: true }), {
    reason: "not_there",
    alike: { but: "words", line: 1 },
  });
  assert.deepEqual(await replaced("a".repeat(900_000), "a".repeat(5_000), "x", { wholeWord: true }), {
    reason: "not_there",
    alike: { but: "words", line: 1 },
  });
});

Deno.test("replaceText() does what a search from the start does, for random texts", async () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", " ", "_"), maxLength: 200 });
  const piece = fc.string({ unit: fc.constantFrom("a", "b", " "), minLength: 1, maxLength: 4 });
  const long = piece.map((part) => part.repeat(20)); // past the runtime's own search
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(text, long),
      fc.oneof(piece, long),
      piece,
      fc.boolean(),
      async (before, old, next, wholeWord) => {
        fc.pre(old !== next);
        const [atStart, atEnd] = [/^\w/.test(old) ? "(?<!\\w)" : "", /\w$/.test(old) ? "(?!\\w)" : ""];
        const pattern = new RegExp(wholeWord ? `${atStart}${old}${atEnd}` : old, "g");
        const expected = before.replace(pattern, () => next);
        const actual = await replaced(before, old, next, { all: true, wholeWord });
        if (typeof actual === "string") assert.equal(actual, expected);
        else assert.deepEqual([actual.reason, expected], ["not_there", before]);
      },
    ),
    { numRuns: 3000 },
  );
});

Deno.test("replaceText() refuses a result over the limit by its size, which it need not make to know", async () => {
  const refusal = async (text: string, oldText: string, newText: string, limit: number): Promise<unknown> => {
    const edited = await replaceText(text, { oldText, newText, all: true }, limit);
    return edited.ok ? edited.value.text : edited.error;
  };
  const [text, newText] = ["a".repeat(1_000_000), "\n".repeat(1_000_000)]; // 10^12 characters: nothing could hold them
  assert.deepEqual(await refusal(text, "a", newText, 1_000_000), {
    reason: "too_large",
    sizeBytes: 1e12,
    limitBytes: 1_000_000,
  });
  assert.deepEqual(await refusal("aüa", "a", "ü", 5), { reason: "too_large", sizeBytes: 6, limitBytes: 5 });
  assert.equal(await refusal("aüa", "a", "ü", 6), "üüü");
});

Deno.test("the difference, applied strictly, turns the old text into the new, for random texts", async () => {
  const text = fc.array(fc.constantFrom("a", "b", "\n", "\n", "c", "\r\n"), { maxLength: 50 })
    .map((parts) => parts.join(""));
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      const diff = await differenceOf(before, after);
      fc.pre(!diff.includes("further place") && !diff.includes("(cut;"));
      assert.equal(applyDifference(before, diff), after, diff);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("the difference is the smallest, has no context, and counts what it does not show", async () => {
  const lines = Array.from({ length: 100 }, (_, n) => `line ${n + 1}\n`);
  const text = lines.join("");
  assert.equal(
    await differenceOf(text, text.replace("line 5\n", "line 5\nnew\n").replace("line 90\n", "")),
    "@@ -5,0 +6 @@\n+new\n@@ -90 +90,0 @@\n-line 90",
  );
  const all = await differenceOf(text, text.replace(/[02468]\n/g, "x\n"));
  assert.match(all, /\n\(and 30 further places\)$/);
  assert.ok(all.split("\n").length < 70);
  for (
    const [before, after] of [
      ["a\n".repeat(400_000), "b\n".repeat(400_000)],
      ["a".repeat(1_000_000), "b".repeat(1_000_000)],
      ["a\n".repeat(5_000), "b\n".repeat(5_000)],
      ["", "b\n".repeat(5_000)],
    ] as const
  ) {
    const diff = await differenceOf(before, after);
    assert.ok(diff.length < 20_000 && diff.split("\n").length < 60, diff.slice(0, 200));
    assert.match(diff, /^@@ -[01](?:,0)? \+1(?:,\d+)? @@\n/);
  }
});

Deno.test("a passage in which too many lines change to be shown is shown on both sides, with the count of each", async () => {
  const text = Array.from({ length: 120 }, (_, n) => `line ${n + 1} old\n`).join("");
  const both = (await differenceOf(text, text.replaceAll("old", "new"))).split("\n");
  assert.deepEqual([both[0], both[1], both[21]], ["@@ -1,120 +1,120 @@", "-line 1 old", "+line 1 new"]);
  assert.equal(both.at(-1), "(cut; lines removed: 120, added: 120)");
  assert.equal(both.length, 42);
  const fewAdded = (await differenceOf(text, "one\ntwo\n")).split("\n");
  assert.deepEqual([fewAdded[38], fewAdded[39], fewAdded[40]], ["-line 38 old", "+one", "+two"]);
  assert.equal(fewAdded.at(-1), "(cut; lines removed: 120, added: 2)");
  const onlyRemoved = (await differenceOf(text, "")).split("\n");
  assert.deepEqual([onlyRemoved[40], onlyRemoved.length], ["-line 40 old", 42]);
  const long = await differenceOf(`${"a".repeat(20_000)}\n`, `${"b".repeat(20_000)}\n`);
  assert.match(long, /\n-a{2000}… \(18000 characters more\)\n\+b{2000}… \(18000 characters more\)$/);
  const [start, end] = ["x".repeat(1_000_000), "y".repeat(500_000)];
  const passage = await differenceOf(`${start}old${end}\nnext\n`, `${start}newer${end}\nnext\n`);
  assert.equal(
    passage,
    `@@ -1 +1 @@\n-…${"x".repeat(60)}old${"y".repeat(60)}…\n+…${"x".repeat(60)}newer${"y".repeat(60)}…`,
  );
});

/** Applies hunks without context; the numbers, the removed lines and missing line ends must all be right. */
function applyDifference(text: string, diff: string): string {
  const old = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const result: string[] = [];
  let at = 0;
  const lines = diff === "" ? [] : diff.split("\n");
  for (let index = 0; index < lines.length;) {
    const numbers = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$/.exec(lines[index++] ?? "");
    assert.ok(numbers, lines[index - 1]);
    const [oldStart, oldCount, newStart, newCount] = [1, 2, 3, 4].map((group) => Number(numbers[group] ?? 1));
    while (at < (oldCount === 0 ? oldStart ?? 0 : (oldStart ?? 0) - 1)) result.push(old[at++] ?? "");
    assert.equal(result.length, newCount === 0 ? newStart : (newStart ?? 0) - 1);
    const ends = [at + (oldCount ?? 0), result.length + (newCount ?? 0)];
    for (; index < lines.length && !(lines[index] ?? "").startsWith("@@"); index++) {
      const line = lines[index] ?? "";
      const isLast = (lines[index + 1] ?? "").startsWith("\\ ");
      const content = isLast ? line.slice(1) : `${line.slice(1)}\n`;
      if (line.startsWith("-")) assert.equal(old[at++], content);
      else result.push(content);
      if (isLast) index++;
    }
    assert.deepEqual([at, result.length], ends);
  }
  return [...result, ...old.slice(at)].join("");
}

Deno.test("no edit of a large file keeps the thread for long, whatever is looked for and however often it is there", async () => {
  const lines = "some words of a line\n".repeat(700_000);
  const letters = "a".repeat(15 * 1024 * 1024);
  const odd = "a".repeat(200_000);
  const edits: readonly [text: string, oldText: string, newText: string, wholeWord: boolean][] = [
    [lines, "words", "w", false],
    [lines, "words", "w", true],
    [lines.replaceAll("\n", "\r\n"), "line\n", "l\n", false],
    [lines, `${"some words of a line\n".repeat(2_000)}z`, "w", false],
    [letters, `${odd}b${odd}`, "w", false],
  ];
  let passes = 0;
  let isOver = false;
  const pass = (): void => {
    passes++;
    if (!isOver) setImmediate(pass);
  };
  pass();
  for (const [text, oldText, newText, wholeWord] of edits) {
    const before = passes;
    await replaceText(text, { oldText, newText, all: true, wholeWord }, Infinity);
    assert.ok(passes - before >= 4, `${passes - before} passes of the event loop for ${oldText.slice(0, 20)}`);
  }
  isOver = true;
});

Deno.test("an edit in a million places holds a few times the text's memory, and nothing for each place", async () => {
  for (
    const [text, oldText] of [["a\r\nb\n".repeat(1_000_000), "b\n"], ["a".repeat(5_000_000), "a"]] as const
  ) {
    const flat = new TextDecoder().decode(new TextEncoder().encode(text));
    const before = Deno.memoryUsage().heapUsed;
    let [most, isOver] = [0, false];
    const look = (): void => {
      most = Math.max(most, Deno.memoryUsage().heapUsed);
      if (!isOver) setImmediate(look);
    };
    look();
    await replaceText(flat, { oldText, newText: "c\n", all: true }, Infinity);
    isOver = true;
    assert.ok(most - before < 16 * flat.length, `${(most - before) / flat.length} bytes a character`);
  }
});

Deno.test("the difference of large texts is looked for in turns", async () => {
  const lines = "a\n".repeat(7_000_000);
  let [passes, isOver] = [0, false];
  const pass = (): void => {
    passes++;
    if (!isOver) setImmediate(pass);
  };
  pass();
  assert.equal(await differenceOf(lines, `${lines}b`), "@@ -7000000,0 +7000001 @@\n+b\n\\ No newline at end of file");
  isOver = true;
  assert.ok(passes >= 4, `${passes} passes of the event loop`);
});
