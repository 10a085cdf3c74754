import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { openDiskWorkspace } from "../../src/workspace/disk/disk_workspace.ts";
import { parseFilePath } from "../../src/workspace/path.ts";
import { createLinePattern, type LineQuery } from "../../src/workspace/text/line_pattern.ts";
import { createSearchBuffer, searchFile } from "../../src/workspace/text/search_file.ts";
import type { LineMatch } from "../../src/workspace/text/search_text.ts";

interface Expected {
  readonly line: number;
  readonly text: string;
}

/** What a search must find, by decoding everything and looking at each line; `null` for what is not text. */
function lookAtEachLine(bytes: Uint8Array, pieceBytes: number, matches: (line: string) => boolean): Expected[] | null {
  const found: Expected[] = [];
  let firstLine = 1;
  for (let offset = 0; offset < bytes.length;) {
    const rest = bytes.subarray(offset, offset + pieceBytes);
    const piece = offset + rest.length === bytes.length ? rest : rest.subarray(0, cut(rest));
    if (piece.includes(0)) return null;
    let text: string;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(piece);
    } catch {
      return null;
    }
    const lines = text.split("\n");
    const ends = lines.length - 1;
    if (lines.at(-1) === "") lines.pop();
    for (const [index, line] of lines.entries()) {
      if (matches(line)) found.push({ line: firstLine + index, text: line });
    }
    firstLine += ends;
    offset += piece.length;
  }
  return found;
}

/** Where a piece ends: after its last line end, or before a character that it does not hold whole. */
function cut(piece: Uint8Array): number {
  const lineEnd = piece.lastIndexOf(10);
  if (lineEnd !== -1) return lineEnd + 1;
  let start = piece.length;
  while (start > 0 && piece.length - start < 4 && ((piece[start - 1] ?? 0) & 0xc0) === 0x80) start--;
  return (piece[start - 1] ?? 0) >= 0xc0 ? start - 1 : piece.length;
}

/** Searches one file after another, in workspaces that read so many bytes at once. */
async function searchFiles(
  query: LineQuery,
  body: (searchOne: (bytes: Uint8Array, pieceBytes: number) => Promise<LineMatch[] | null>) => Promise<void>,
): Promise<void> {
  const root = Deno.makeTempDirSync();
  const workspaces = new Map(pieceSizes.map((maxReadBytes) => {
    return [maxReadBytes, openDiskWorkspace({ root, limits: { maxReadBytes } })] as const;
  }));
  const path = parseFilePath("f");
  const pattern = await createLinePattern(query);
  assert.ok(path.ok && pattern.ok, JSON.stringify(query));
  try {
    await body(async (bytes, pieceBytes) => {
      Deno.writeFileSync(`${root}/f`, bytes);
      const workspace = workspaces.get(pieceBytes) ?? assert.fail();
      const matches: LineMatch[] = [];
      const found = await searchFile(workspace, path.value, {
        pattern: pattern.value,
        contextLines: 0,
        afterLine: 0,
        onMatch: (match) => matches.push(match) < 0,
        nextTurn: () => undefined,
        isOver: () => false,
        buffer: createSearchBuffer(workspace),
      });
      return found.ok ? matches : null;
    });
  } finally {
    for (const workspace of workspaces.values()) await workspace.close();
    Deno.removeSync(root, { recursive: true });
  }
}

const pieceSizes = [1024 * 1024, 64, 17] as const;

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
  const literal = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
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
  pieceBytes: fc.constantFrom(pieceSizes[0], ...pieceSizes),
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
          const expected = lookAtEachLine(bytes, pieceBytes, matches);
          const found = await searchOne(bytes, pieceBytes);
          assert.deepEqual(found?.map(({ line }) => line), expected?.map(({ line }) => line));
          for (const [index, { text }] of found?.entries() ?? []) {
            const whole = expected?.[index]?.text ?? "";
            if (whole.length <= 500) assert.equal(text, whole);
          }
        }),
        { numRuns: 40 },
      ));
  });
}
