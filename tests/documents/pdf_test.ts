/** The text of PDF: headings, lists, and tables whose cells have several lines. */
import assert from "node:assert/strict";
import { DocumentBudget } from "../../src/files/documents/document.ts";
import { readPdf } from "../../src/files/documents/pdf.ts";
import { makePdf } from "../fixtures/pdf.ts";

const budget = new DocumentBudget(1_000_000);

async function textOf(lines: readonly string[]): Promise<string> {
  const { parts } = await readPdf(makePdf([lines]), budget, 1);
  return parts[0]?.text ?? "";
}

Deno.test("readPdf() reads from any page on, and says which are read", async () => {
  const bytes = makePdf([["one"], ["two"], ["three"]]);
  const { parts, summary, isCut } = await readPdf(bytes.slice(), budget, 2);
  assert.deepEqual(parts, [{ name: "p2", text: "two" }, { name: "p3", text: "three" }]);
  assert.deepEqual([summary, isCut], ["3 pages, of which p2-3 are read", true]);
  const short = await readPdf(bytes.slice(), budget, 1, 0);
  assert.equal(short.summary, "3 pages, of which p1 is read: p2- gives the next ones");
  assert.deepEqual((await readPdf(bytes.slice(), budget, 9)).parts.map(({ name }) => name), ["p3"]);
});

Deno.test("readPdf() says which page is damaged, and gives those before it", async () => {
  const text = new TextDecoder("latin1").decode(makePdf([["one"], ["two"], ["three"]]));
  const damaged = text.replace(/(6 0 obj\n)[^]*?endobj/, "$1<< /Type /Page /X ) [1 0 R] >>\nendobj");
  const { parts } = await readPdf(new TextEncoder().encode(damaged), budget, 1);
  assert.deepEqual(parts.map(({ text }) => text.slice(0, 21)), ["one", "(this page is damaged"]);
});

Deno.test("readPdf() makes a table of cells that lie in columns, each with as many lines as it has", async () => {
  const text = await textOf([
    "@72,760 The offer is valid for thirty days and for all that are named in it",
    ...["@72,730 No", "@150,730 Description", "@400,730 Price"],
    ...["@72,715 1", "@150,715 Consulting in the first", "@150,702 quarter of the year", "@400,715 1,200.00"],
    ...["@72,689 2", "@150,689 Support | help", "@400,689 90.50"],
    ...["@150,674 Total", "@400,674 1,290.50"],
    "@72,640 Notice is three months to the end of a quarter, as the contract says",
  ]);
  assert.equal(
    text,
    [
      "The offer is valid for thirty days and for all that are named in it",
      "",
      "| No | Description | Price |",
      "| --- | --- | --- |",
      "| 1 | Consulting in the first quarter of the year | 1,200.00 |",
      "| 2 | Support \\| help | 90.50 |",
      "|  | Total | 1,290.50 |",
      "",
      "Notice is three months to the end of a quarter, as the contract says",
    ].join("\n"),
  );
});

Deno.test("readPdf() keeps an index on its line, as what it is", async () => {
  const before = "@72,700 and so E = mc";
  assert.equal(await textOf([before, "@143,704,7 2", "@150,700 is known."]), "and so E = mc^2 is known.");
});

Deno.test("readPdf() makes no table of lists, of columns of text, or of one line with a gap", async () => {
  const list = ["@72,760 1.", "@100,760 First step", "@72,745 2.", "@100,745 Second step, which is"];
  assert.equal(
    await textOf([...list, "@100,730 longer"]),
    "1. First step\n2. Second step, which is\nlonger",
  );
  const columns = [72, 320].flatMap((x) => [700, 685, 670].map((y) => `@${x},${y} a line of text at ${x}`));
  assert.doesNotMatch(await textOf(columns), /\|/);
  assert.equal(
    await textOf(["@72,700 Vienna", "@400,700 May 2026", "@72,685 Dear all"]),
    "Vienna   May 2026\nDear all",
  );
});
