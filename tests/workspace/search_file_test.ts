import assert from "node:assert/strict";
import { Buffer, isUtf8 } from "node:buffer";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import { parseFilePath } from "../../src/files/workspace/path.ts";
import { createLinePattern, type LineQuery } from "../../src/files/text/line_pattern.ts";
import { decodeText, wideEncoding } from "../../src/files/text/encoding.ts";
import { createSearchBuffer, type LineMatch, searchFile } from "../../src/files/text/search_file.ts";
import { diskModes } from "./disk_modes.ts";

interface Expected {
  readonly line: number;
  readonly text: string;
}

/** What a search must find, by decoding the file and looking at each line; `null` for what is not text. */
async function lookAtEachLine(
  bytes: Uint8Array,
  matches: (line: string) => boolean,
  seesReturns: boolean,
): Promise<Expected[] | null> {
  const isWide = wideEncoding(bytes) !== null; // bytes that were made at random are, at times
  if (bytes.includes(0) && !isWide) return null;
  let text: string;
  try {
    if (isWide) throw new TypeError("no UTF-8");
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const decoded = await decodeText(bytes);
    if (decoded === null) return null;
    ({ text } = decoded);
  }
  if (!seesReturns) text = text.replaceAll("\r\n", "\n");
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.flatMap((line, index) => matches(line) ? [{ line: index + 1, text: line }] : []);
}

/** Searches one file after another, in workspaces that read so many bytes at once. */
async function searchFiles(
  query: LineQuery,
  body: (searchOne: (bytes: Uint8Array, pieceBytes: number) => Promise<LineMatch[] | null>) => Promise<void>,
  { contextLines = 0, unsure = [] }: { readonly contextLines?: number; readonly unsure?: number[] } = {},
): Promise<void> {
  const root = Deno.makeTempDirSync();
  const workspaces = new Map(pieceSizes.map((maxReadBytes) => {
    return [maxReadBytes, openDiskWorkspace({ root, kernel: diskModes[0]?.kernel, limits: { maxReadBytes } })] as const;
  }));
  const path = parseFilePath("f");
  const pattern = await createLinePattern(query);
  assert.ok(path.ok && pattern.ok, JSON.stringify(query));
  try {
    await body(async (bytes, pieceBytes) => {
      Deno.writeFileSync(`${root}/f`, bytes);
      const workspace = workspaces.get(pieceBytes) ?? assert.fail();
      const matches: LineMatch[] = [];
      const found = await searchFile(workspace, path.value, createSearchBuffer(workspace), {
        pattern: pattern.value,
        contextLines,
        afterLine: 0,
        onMatch: (match) => matches.push(match) < 0,
        onUnsure: (line) => unsure.push(line),
        nextTurn: () => undefined,
        isOver: () => false,
        mayStopAtOnce: false,
      });
      return found.ok ? matches : null;
    });
  } finally {
    for (const workspace of workspaces.values()) await workspace.close();
    Deno.removeSync(root, { recursive: true });
  }
}

const pieceSizes = [1024 * 1024, 64, 17, 997, 4_096, 5_003] as const;

const queries: readonly LineQuery[] = [
  ...["a", "ab", "é", "ab\r", "😀", "b😀a", "\ufeff", "a".repeat(40), "\ud83d", "\ude00", "^a", "ſ", "."].map((
    text,
  ) => ({
    text,
    isRegularExpression: false,
    ignoreCase: false,
  })),
  ...["AB", "K", "s", "ſK", "É", "ßa", "ẞ", "İ", "å", "Σ", "sks", "aÉb", "\ud83d", "a.b", "𐐀"].map((text) => ({
    text,
    isRegularExpression: false,
    ignoreCase: true,
  })),
  ...[false, true].flatMap((ignoreCase) =>
    [
      ...[
        "ab",
        "^a",
        "b$",
        "a*",
        "\\s",
        "[^a]b",
        "^$",
        "(ab)+",
        "a.b",
        "a[^b]b",
        "\\bab\\b",
        "\\Bb",
        "é",
        "[é-ü]a",
        "\\pL\\pL",
      ],
      ...[
        "[a-b]{3}",
        "k",
        "sk|ba",
        "(?i)K",
        "(?i:é)x",
        "a|b|é",
        "^a.*b$",
        "\\Aa",
        "b\\z",
        "\\x{1F600}",
        ".{5,}",
        "[^\\x00-\\x7F]",
      ],
      ...[
        "(a|b)*a(a|b){9}",
        "[ab]+\\s[ab]",
        "\\r$",
        "(?s).b",
        "(?m)^b",
        "\\Q.\\E",
        "(?U)a+b",
        "x*$",
        "\\w\\W\\w",
        "aab|bba|é+",
      ],
    ].map((text) => ({ text, isRegularExpression: true, ignoreCase }))
  ),
];

function matcherOf({ text, isRegularExpression, ignoreCase }: LineQuery): (line: string) => boolean {
  if (isRegularExpression) {
    const expression = RE2JS.compile(text, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    return (line) => expression.matcher(line).find();
  }
  if (!ignoreCase) return (line) => line.includes(text);
  // without what Unicode folds with letters of ASCII: the Kelvin sign, and the long s
  const flags = /^[\0-\x7f]*$/.test(text) ? "i" : "iu";
  const literal = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), flags);
  return (line) => literal.test(line);
}

const characters = fc.constantFrom(
  ...[
    "a",
    "b",
    "A",
    "B",
    "ab",
    "\n",
    "\n",
    "\n",
    "\r\n",
    " ",
    ".",
    "é",
    "É",
    "É",
    "å",
    "Å",
    "\u212b",
    "ß",
    "ẞ",
    "İ",
    "σ",
    "ς",
  ],
  ...[
    "k",
    "K",
    "\u212a",
    "s",
    "ſ",
    "😀",
    "𐐀",
    "𐐨",
    "\ufeff",
    "中",
    "\u0301",
    "x",
    "\t",
    "a".repeat(45),
    "ab".repeat(30),
  ],
);
const files = fc.record({
  text: fc.array(characters, { maxLength: 120 }).map((pieces) => pieces.join("")),
  broken: fc.constantFrom("", "", "", "", "", "", "", "\0", "\xff", "\xe9", "\xed\xa0\x80", "\xc0\x80", "\xf0\x9f"),
  brokenAt: fc.nat(400),
  pieceBytes: fc.constantFrom(pieceSizes[0], pieceSizes[0], 64, 17),
}).map(({ text, broken, brokenAt, pieceBytes }) => {
  const bytes = Buffer.from(text);
  const at = Math.min(brokenAt, bytes.length);
  return {
    bytes: Buffer.concat([bytes.subarray(0, at), Buffer.from(broken, "latin1"), bytes.subarray(at)]),
    pieceBytes,
  };
});

for (const query of queries) {
  const kind = `${query.isRegularExpression ? "expression" : "text"}${query.ignoreCase ? " in any case" : ""}`;
  Deno.test(`searchFile() finds the ${kind} ${JSON.stringify(query.text)} where a look at each line does`, async () => {
    const matches = matcherOf(query);
    await searchFiles(query, (searchOne) =>
      fc.assert(
        fc.asyncProperty(files, async ({ bytes, pieceBytes }) => {
          const found = await searchOne(bytes, pieceBytes);
          if (pieceBytes < bytes.length && (!isUtf8(bytes) || wideEncoding(bytes) !== null)) return; // each piece shows its own encoding
          const expected = await lookAtEachLine(bytes, matches, /\r|\\r/.test(query.text));
          assert.deepEqual(found?.map(({ line }) => line), expected?.map(({ line }) => line));
          for (const [index, { text, column }] of found?.entries() ?? []) {
            const whole = expected?.[index]?.text ?? "";
            if (whole.length <= 500 && column === undefined) assert.equal(text, whole);
            else assert.ok(whole.toWellFormed().includes(text.replace(/^…/, "").replace(/…$/, "")), text);
          }
        }),
        { numRuns: 40 },
      ));
  });
}

Deno.test("searchFile() finds in UTF-16 and Latin-1 what it finds in UTF-8, whatever the size of the pieces", async () => {
  const text = "[Größe]\r\nähnlich = 1\r\n" + "füller 😀\n".repeat(30) + "ähnlich = 2" + "ü".repeat(80) + "\nende";
  const encodings: readonly (readonly [string, (text: string) => Uint8Array, string])[] = [
    ["UTF-8", (text) => Buffer.from(text), text],
    ["UTF-8 with a mark", (text) => Buffer.from(`\ufeff${text}`), text],
    ["UTF-16LE", (text) => Buffer.from(`\ufeff${text}`, "utf16le"), text],
    ["UTF-16BE", (text) => Buffer.from(`\ufeff${text}`, "utf16le").swap16(), text],
    ["Latin-1", (text) => Buffer.from(text, "latin1"), text.replaceAll("😀", "")],
  ];
  for (const expression of ["^\\[Größe\\]$", "ähnlich = \\d", "ende$", "üüü"]) {
    await searchFiles({ text: expression, isRegularExpression: true, ignoreCase: false }, async (searchOne) => {
      for (const [name, encode, content] of encodings) {
        for (const pieceBytes of [pieceSizes[0], pieceSizes[1]]) {
          const lines = content.split(/\r?\n/);
          const numbers = lines.flatMap((line, index) => new RegExp(expression).test(line) ? [index + 1] : []);
          const found = await searchOne(encode(content), pieceBytes) ?? assert.fail(name);
          assert.deepEqual(found.map(({ line }) => line), numbers, `${name}, ${expression}, ${pieceBytes}`);
          for (const match of found) assert.ok(lines[match.line - 1]?.includes(match.text.replaceAll("…", "")), name);
        }
      }
    });
  }
  await searchFiles({ text: "a", isRegularExpression: false, ignoreCase: false }, async (searchOne) => {
    assert.equal(await searchOne(Buffer.from("\ufeffa", "utf16le").subarray(0, 3), pieceSizes[0]), null);
    assert.equal(await searchOne(Buffer.from("\ufeffa\ud800", "utf16le"), pieceSizes[0]), null);
    assert.equal(await searchOne(Buffer.from([0x61, 0x01, 0x02, 0x03, 0xff]), pieceSizes[0]), null);
  });
});

Deno.test("searchFile() finds an expression anywhere in a line without end, with its anchors and word boundaries", async () => {
  const filler = "abcé(x) ".repeat(60_000); // half a megabyte
  const line = `first ${filler} word id=4711; ${filler} words ${filler.slice(0, 100_000)} last`;
  const expected = [
    ["id=\\d+;", /id=4711;/],
    ["\\bword\\b", /[^s]word [^s]/],
    ["^first", /^first/],
    ["last$", /last$/],
    ["words", /words/],
    ["^abc", null],
    ["^word", null],
    ["first$", null],
    ["\\bord", null],
    ["(a|b)*c\\.(a|b){20}|id=(\\d|x){4}", /id=4711/],
    ["id=\\d+\\s", null],
  ] as const;
  for (const [expression, shown] of expected) {
    await searchFiles({ text: expression, isRegularExpression: true, ignoreCase: false }, async (searchOne) => {
      const found = await searchOne(Buffer.from(line.slice(0, 1_000_000)), pieceSizes[0]);
      const isThere = shown === null || new RegExp(expression).test(line.slice(0, 1_000_000));
      if (shown === null) assert.deepEqual(found, [], expression);
      else if (isThere) assert.match(found?.[0]?.text.replaceAll("…", "") ?? "", shown, expression);
      assert.ok((found?.[0]?.text.length ?? 0) <= 502);
    });
  }
});

Deno.test("searchFile() finds in lines longer than any read what a look at the whole line does, or is unsure, and where", async () => {
  const filler = fc.constantFrom("abcdefgh ", "ab", "é", "xyz\u{1f600}", "0123456789 ", "foo", "\r");
  const long = fc.array(fc.tuple(filler, fc.nat(2_000)), { maxLength: 8 })
    .map((parts) => parts.map(([text, times]) => text.repeat(times)).join(""));
  const planted = fc.constantFrom("", "", "needle", "NEEDLE", "\n", "\r\n", "start end", "fooé", "Größe");
  const texts = fc.array(fc.tuple(long, planted), { minLength: 1, maxLength: 6 })
    .map((parts) => parts.flat().join(""));
  const longQueries: readonly LineQuery[] = [
    { text: "needle", isRegularExpression: false, ignoreCase: false },
    { text: "needle", isRegularExpression: false, ignoreCase: true },
    ...[
      "^abc",
      "gh $",
      "foo.*needle",
      "^(.*\\D)?needle",
      "x.*é$",
      "^\\w+$",
      "é\\s",
      "needle$|Größe",
      "\\bend\\b",
      "ab\\r",
    ].map((
      text,
    ) => ({ text, isRegularExpression: true, ignoreCase: false })),
  ];
  const encode = (text: string, encoding: string): Uint8Array => {
    if (encoding === "utf-8") return Buffer.from(text);
    const wide = Buffer.from(`\ufeff${text}`, "utf16le");
    return encoding === "utf-16le" ? wide : wide.swap16();
  };
  for (const query of longQueries) {
    const matches = matcherOf(query);
    const unsure: number[] = [];
    await searchFiles(query, (searchOne) =>
      fc.assert(
        fc.asyncProperty(
          texts,
          fc.constantFrom("utf-8", "utf-8", "utf-16le", "utf-16be"),
          fc.constantFrom(997, 4_096, 5_003),
          async (text, encoding, pieceBytes) => {
            const seen = query.text.includes("\\r") ? text : text.replaceAll("\r\n", "\n");
            const lines = seen.split("\n");
            if (lines.at(-1) === "") lines.pop();
            const expected = lines.flatMap((line, index) => matches(line) ? [index + 1] : []);
            unsure.length = 0;
            const found = await searchOne(encode(text, encoding), pieceBytes) ?? assert.fail();
            if (!query.isRegularExpression) assert.deepEqual(unsure, []);
            const isLong = (line: number): boolean => (lines[line - 1]?.length ?? 0) > 10_000;
            assert.ok(unsure.every((line) => isLong(line) && !found.some((match) => match.line === line)));
            assert.deepEqual(found.map(({ line }) => line), expected.filter((line) => !unsure.includes(line)));
            for (const { line, column, text: shown } of found) {
              const whole = lines[line - 1] ?? "";
              assert.ok(whole.includes(shown.replace(/^…\ufffd?/, "").replace(/\ufffd?…$/, "")));
              if (query.isRegularExpression || column === undefined) continue;
              const at = Array.from(whole).slice(column - 1).join("");
              assert.equal(at.slice(0, 6).toLowerCase(), "needle");
            }
          },
        ),
        { numRuns: 25 },
      ), { unsure });
  }
});

Deno.test("searchFile() gives lines around a match also where they come with another read", async () => {
  const lines = Array.from(
    { length: 60 },
    (_, n) => n % 7 === 3 ? `hit ${n}` : n % 11 === 5 ? "l".repeat(90) : `line ${n}`,
  );
  const shown = (number: number): string => lines[number - 1] ?? "";
  await searchFiles({ text: "hit", isRegularExpression: false, ignoreCase: false }, async (searchOne) => {
    for (const pieceBytes of [64, 17, 997]) {
      const found = await searchOne(Buffer.from(lines.join("\n")), pieceBytes) ?? assert.fail();
      assert.deepEqual(
        found.map(({ line }) => line),
        lines.flatMap((line, n) => line.startsWith("hit") ? [n + 1] : []),
      );
      for (const { line, before, after } of found) {
        const around = (from: number, to: number): string[] =>
          Array.from({ length: to - from + 1 }, (_, index) => shown(from + index).slice(0, 16));
        assert.deepEqual(
          before.map((text) => text.slice(0, 16)),
          around(Math.max(1, line - 2), line - 1),
          `${line}, ${pieceBytes}`,
        );
        assert.deepEqual(
          after.map((text) => text.slice(0, 16)),
          around(line + 1, Math.min(60, line + 2)),
          `${line}, ${pieceBytes}`,
        );
      }
    }
  }, { contextLines: 2 });
});

Deno.test("searchFile() answers without a promise for a small file in which nothing can match", async () => {
  const root = Deno.makeTempDirSync();
  const workspace = openDiskWorkspace({ root, kernel: diskModes[0]?.kernel });
  const [path, plain, expression] = [
    parseFilePath("f"),
    await createLinePattern({ text: "needle", isRegularExpression: false, ignoreCase: false }),
    await createLinePattern({ text: "\\w\\s+ne+dle", isRegularExpression: true, ignoreCase: false }),
  ];
  assert.ok(path.ok && plain.ok && expression.ok);
  for (const content of ["", "hay\n", "\ufeffhéy\r\n", "hay\n".repeat(1_000), "hay\n".repeat(100_000), "a needle"]) {
    Deno.writeTextFileSync(`${root}/f`, content);
    for (const { value: pattern } of [plain, expression]) {
      const matches: LineMatch[] = [];
      const found = searchFile(workspace, path.value, createSearchBuffer(workspace), {
        pattern,
        contextLines: 0,
        afterLine: 0,
        onMatch: (match) => matches.push(match) < 0,
        onUnsure: () => assert.fail(),
        nextTurn: () => undefined,
        isOver: () => false,
        mayStopAtOnce: false,
      });
      const isQuick = content.length < 10_000 && !content.includes("needle");
      assert.equal(found instanceof Promise, !isQuick, `${content.length} characters`);
      assert.deepEqual(await found, { ok: true, value: { stoppedAfter: null } });
      assert.equal(matches.length, content.includes("needle") ? 1 : 0);
    }
  }
  await workspace.close();
  Deno.removeSync(root, { recursive: true });
});
