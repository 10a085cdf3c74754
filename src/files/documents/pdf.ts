/** PDF by pdf.js: the text of each page in the order in which it was written, with headings, simple tables and links. */
import { getDocument } from "unpdf/pdfjs";
import { type DocumentPart, DocumentRefusal, type DocumentText, maxDocumentCharacters } from "./document.ts";

/** Further pages are left out, and the summary says so. */
const maxPages = 10_000;
/** Links and comments of one page. */
const maxNotes = 200;

interface TextItem {
  readonly str: string;
  /** `[scale x, skew, skew, scale y, x, y]`: the place is that of the baseline's beginning, up from the page's foot. */
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
}

/** A run of words without a wide gap. */
interface Cell {
  readonly x: number;
  end: number;
  text: string;
}

interface Line {
  readonly y: number;
  readonly size: number;
  readonly cells: Cell[];
}

export async function readPdf(bytes: Uint8Array): Promise<DocumentText> {
  const options = { data: bytes, isEvalSupported: false, useSystemFonts: false, disableFontFace: true, verbosity: 0 };
  const task = getDocument({ ...options, stopAtErrors: false, enableXfa: false, maxImageSize: 1 });
  const document = await task.promise.catch((error: unknown) => {
    const isLocked = error instanceof Error && error.name === "PasswordException";
    throw new DocumentRefusal(isLocked ? "it is a PDF that is locked with a password" : "it is a damaged PDF");
  });
  const { info } = await document.getMetadata().catch(() => ({ info: {} }));
  const title = Reflect.get(info, "Title");
  const parts: DocumentPart[] = [];
  const without: number[] = [];
  let characters = 0;
  const count = Math.min(document.numPages, maxPages);
  for (let number = 1; number <= count && characters < maxDocumentCharacters; number++) {
    const text = await textOfPage(await document.getPage(number)).catch(() => null);
    if (text === "") without.push(number);
    const shown = text === null
      ? "(this page is damaged, or too large when unpacked)"
      : text === ""
      ? "(no text on this page: it is a picture, such as a scan, or empty)"
      : text;
    parts.push({ name: `p${number}`, text: shown });
    characters += shown.length;
  }
  const cut = parts.length < document.numPages ? `, of which the first ${parts.length} are read` : "";
  return {
    kind: "pdf",
    ...typeof title === "string" && title.trim() !== "" ? { title: title.trim() } : {},
    summary: `${document.numPages} page${document.numPages === 1 ? "" : "s"}${cut}`,
    remarks: without.length === 0 ? [] : [`without text, perhaps scanned: ${rangesOf(without)}`],
    parts,
  };
}

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof getDocument>["promise"]>["getPage"]>>;

async function textOfPage(page: Page): Promise<string> {
  const { items } = await page.getTextContent();
  const lines = toLines(items as TextItem[]);
  const notes = (await page.getAnnotations()).flatMap(noteOf).slice(0, maxNotes);
  page.cleanup();
  return [...toMarkdown(lines), ...notes].join("\n");
}

/** Words on one height, in the order of the page's own instructions, which is nearly always that of reading. */
function toLines(items: readonly TextItem[]): readonly Line[] {
  const lines: Line[] = [];
  for (const { str, transform, width, height } of items) {
    if (str.trim() === "" || transform === undefined) continue;
    const [, skew = 0, , , x = 0, y = 0] = transform;
    const size = height || Math.abs(transform[3] ?? 0) || Math.abs(skew) || 1;
    const line = lines.at(-1);
    const cell = line?.cells.at(-1);
    const isSameLine = line !== undefined && cell !== undefined &&
      Math.abs(line.y - y) < Math.min(size, line.size) / 2 &&
      x >= cell.end - size;
    if (!isSameLine) {
      lines.push({ y, size, cells: [{ x, end: x + width, text: str.trim() }] });
      continue;
    }
    const gap = x - cell.end;
    if (gap > size) line.cells.push({ x, end: x + width, text: str.trim() });
    else {
      const isApart = gap > size * 0.15 || /^\s/.test(str) || cell.text.endsWith(" ");
      cell.text = `${cell.text}${isApart && !cell.text.endsWith(" ") ? " " : ""}${str.trimStart()}`;
      cell.end = x + width;
    }
  }
  for (const { cells } of lines) for (const cell of cells) cell.text = cell.text.trim();
  return lines;
}

function toMarkdown(lines: readonly Line[]): readonly string[] {
  const usual = usualSize(lines);
  const written: string[] = [];
  for (let at = 0; at < lines.length;) {
    const rows = tableAt(lines, at);
    if (rows.length > 0) {
      written.push("", ...rows, "");
      at += rows.length - 1;
      continue;
    }
    const line = lines[at];
    if (line === undefined) break;
    const before = lines[at - 1];
    const text = line.cells.map((cell) => cell.text).join("   ");
    const isHeading = line.size > usual * 1.2 && line.cells.length === 1 && text.length < 120 && /\p{L}/u.test(text);
    const isApart = before !== undefined && Math.abs(before.y - line.y) > 1.8 * Math.max(line.size, before.size);
    if (isApart || isHeading) written.push("");
    written.push(isHeading ? `${line.size > usual * 1.6 ? "#" : "##"} ${text}` : text);
    at++;
  }
  return written.filter((text, at) => text !== "" || (at > 0 && written[at - 1] !== ""));
}

/** The height of most letters. */
function usualSize(lines: readonly Line[]): number {
  const letters = new Map<number, number>();
  for (const { size, cells } of lines) {
    const rounded = Math.round(size * 2) / 2;
    const count = cells.reduce((sum, { text }) => sum + text.length, 0);
    letters.set(rounded, (letters.get(rounded) ?? 0) + count);
  }
  return [...letters].reduce((most, each) => each[1] > most[1] ? each : most, [Infinity, 0])[0];
}

/** From here on, lines of as many cells that begin below each other: a table of three rows or more, with its rule. */
function tableAt(lines: readonly Line[], start: number): readonly string[] {
  const first = lines[start]?.cells ?? [];
  if (first.length < 2) return [];
  let end = start + 1;
  while (isBelow(first, lines[end]?.cells ?? [], lines[start]?.size ?? 1)) end++;
  if (end - start < 3) return [];
  const rows = lines.slice(start, end).map(({ cells }) =>
    `| ${cells.map(({ text }) => text.replaceAll("|", "\\|")).join(" | ")} |`
  );
  return [rows[0] ?? "", `|${" --- |".repeat(first.length)}`, ...rows.slice(1)];
}

/** Left, right or middle of each cell below that of the other. */
function isBelow(first: readonly Cell[], cells: readonly Cell[], size: number): boolean {
  return cells.length === first.length && cells.every(({ x, end }, at) => {
    const above = first[at];
    if (above === undefined) return false;
    const apart = [x - above.x, end - above.end, (x + end - above.x - above.end) / 2];
    return apart.some((each) => Math.abs(each) < size);
  });
}

/** What people added to a page: where a link leads, what a comment says, what a form has in a field. */
function noteOf(annotation: Record<string, unknown>): readonly string[] {
  const text = (name: string): string => {
    const value = annotation[name];
    const said = typeof value === "object" && value !== null ? Reflect.get(value, "str") : value;
    return typeof said === "string" ? said.replaceAll(/\s+/g, " ").trim().slice(0, 2_000) : "";
  };
  const subtype = text("subtype");
  if (subtype === "Link") return text("url") === "" ? [] : [`Link: ${text("url")}`];
  if (subtype === "Widget") {
    return text("fieldValue") === "" ? [] : [`Field ${text("fieldName")}: ${text("fieldValue")}`];
  }
  const by = text("titleObj") === "" ? "" : ` by ${text("titleObj")}`;
  return text("contentsObj") === "" ? [] : [`Comment${by}: ${text("contentsObj")}`];
}

/** `p1-3, p7`. */
function rangesOf(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const range = ranges.at(-1);
    if (range !== undefined && range[1] === number - 1) range[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => first === last ? `p${first}` : `p${first}-${last}`).join(", ");
}
