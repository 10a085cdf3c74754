/** A workspace in which documents are files of text: for the tools that read, search and compare. */
import { failure, success } from "../../lib/result.ts";
import type { KeptItem } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { FileContent, Outcome, Trash, Workspace } from "../workspace/port.ts";
import { nextTurn } from "../../lib/turns.ts";
import { readWholeFile } from "../text/edit.ts";
import { columnNumber, type DocumentPart, type DocumentText, nameWords, quoted } from "./document.ts";
import { type Documents, maxDocumentBytes, type Share } from "./reading.ts";

/** The file of the document, and what its notice says of it. */
export interface DocumentFacts {
  readonly sizeBytes: number;
  /** "PDF", "DOCX". */
  readonly kind: string;
  /** "PDF, 12 pages, “Contract”; page 3 is without text". */
  readonly words: string;
  /** "PDF, 12 pages": without a word of its text. */
  readonly size: string;
  /** The parts and the line of the text at which each begins, from 1. */
  readonly places: readonly { readonly name: string; readonly line: number }[];
  readonly isCut: boolean;
}

interface Opened {
  readonly path: string;
  readonly content: FileContent;
  readonly facts: DocumentFacts;
}

/** What reads documents here, and for whom. */
export interface DocumentAccess extends Share {
  readonly documents: Documents;
}

/** The documents of one call. `part` is what its name asks for after the colon: "p3-7", "Q3!B2:F40". */
export function openDocuments(workspace: Workspace, { documents, caller, work }: DocumentAccess, part?: string) {
  let last: Opened | null = null; // of a file that is read in pieces
  let opened = 0;

  const open = async (path: WorkspacePath): Promise<Outcome<Opened> | null> => {
    if (!mayBeDocument(path.text, part)) return null;
    const head = await workspace.read(path, { offsetBytes: 0, lengthBytes: headBytes });
    if (!head.ok) return null; // the workspace says why
    if (!isDocument(path.text, head.value.bytes)) return null;
    const { version, modifiedAt, sizeBytes } = head.value;
    if (last?.path === path.text && last.content.version === version) return success(last);
    const readFrom = async (firstPage: number) => {
      const key = [caller, path.text, version, firstPage].join("\0"); // versions of two file systems may be equal
      if (!documents.isKept(key)) opened++;
      return await documents.read(path.text, { version: key, caller, work, firstPage, load: () => load(path) });
    };
    let read = sizeBytes > maxDocumentBytes
      ? failure(`it has ${sizeBytes} bytes, and documents of up to ${maxDocumentBytes} are read`)
      : await readFrom(1);
    // the first that is asked for
    const page = Number(/^(?:p|pages?)?\s*([1-9]\d{0,5})(?!\d)/i.exec(part?.trim() ?? "")?.[1] ?? 1);
    for (const firstPage of [page - (page - 1) % pagesApart, page]) {
      if (read.ok && isPageMissing(read.value.document, page)) read = await readFrom(firstPage);
    }
    if (!read.ok && part === undefined && textNames.test(path.text)) return null; // its source can be read
    if (!read.ok) return failure({ reason: "document", words: read.error });
    const { document, sha256 } = read.value;
    const parts = part === undefined
      ? success(document.parts.filter(({ name }) => !name.endsWith(" outputs")))
      : await selectParts(document, part, work);
    if (!parts.ok) {
      const rest = document.isCut === true ? `; ${document.summary}` : "";
      return failure({ reason: "document", words: `${parts.error}${rest}` });
    }
    const { bytes, places } = part === undefined ? writtenWhole(document, parts.value) : writtenParts(parts.value);
    const kind = document.kind.toUpperCase();
    last = {
      path: path.text,
      content: { bytes, sizeBytes: bytes.byteLength, sha256, version, modifiedAt },
      facts: {
        sizeBytes,
        kind,
        words: wordsOf(document, path),
        size: `${kind}, ${document.summary.replace(/:[^]*/, "")}`, // the names of sheets follow a colon
        places,
        isCut: document.isCut === true,
      },
    };
    return success(last);
  };

  const load = async (path: WorkspacePath) => {
    const whole = await readWholeFile(workspace, path, maxDocumentBytes);
    if (!whole.ok || whole.value.sha256 === null) return failure("it could not be read whole: try again");
    return success({ bytes: new Uint8Array(whole.value.bytes), sha256: whole.value.sha256 });
  };

  const view: Workspace = {
    ...workspace,
    async read(path, range) {
      const opened = await open(path);
      if (opened === null) return await workspace.read(path, range);
      if (!opened.ok) return opened;
      const { content } = opened.value;
      const { maxReadBytes } = workspace.limits;
      if (range !== undefined) {
        const bytes = content.bytes.slice(range.offsetBytes, range.offsetBytes + range.lengthBytes);
        return success({ ...content, bytes, sha256: null });
      }
      return content.sizeBytes <= maxReadBytes
        ? success(content)
        : failure({ reason: "too_large", sizeBytes: content.sizeBytes, limitBytes: maxReadBytes });
    },
    async readInto(path, buffer, offsetBytes) {
      const opened = await open(path);
      if (opened === null) return await workspace.readInto(path, buffer, offsetBytes);
      if (!opened.ok) return opened;
      const { bytes, sizeBytes } = opened.value.content;
      const piece = bytes.subarray(offsetBytes, offsetBytes + buffer.byteLength);
      buffer.set(piece);
      return success({ lengthBytes: piece.byteLength, sizeBytes });
    },
  };
  return {
    view,
    /** How many documents were read anew. */
    countOpened: () => opened,
    /** Of the document at this path that was read last; `null` for other files. */
    factsOf: (path: WorkspacePath): DocumentFacts | null => last?.path === path.text ? last.facts : null,
  };
}

/** A whole file to be compared: the text of a document that is no text itself, and of RTF. */
export function readToCompare(workspace: Workspace, path: WorkspacePath, access: DocumentAccess) {
  return openDocuments(
    workspace,
    access,
    textNames.test(path.text) && !/\.rtf$/i.test(path.text) ? "source" : undefined,
  ).view.read(path);
}

/** The workspace in which any path holds what the trash has kept, of so many bytes. */
export function withKept(workspace: Workspace, trash: Trash, item: KeptItem, sizeBytes: number): Workspace {
  const { maxReadBytes } = workspace.limits;
  return {
    ...workspace,
    async read(_path, range) {
      if (range === undefined && sizeBytes > maxReadBytes) {
        return failure({ reason: "too_large", sizeBytes, limitBytes: maxReadBytes });
      }
      const read = await trash.read(item, range ?? { offsetBytes: 0, lengthBytes: maxReadBytes });
      const facts = { sizeBytes, sha256: null, version: `${item.change}.${item.number}`, modifiedAt: 0 };
      return read.ok ? success({ bytes: read.value, ...facts }) : read;
    },
  };
}

/** The text of a document that is kept, while it is: a page of an answer costs no new one. */
const written = new WeakMap<DocumentText, ReturnType<typeof writtenParts>>();

function writtenWhole(document: DocumentText, parts: readonly DocumentPart[]) {
  return written.getOrInsertComputed(document, () => writtenParts(parts));
}

/** The parts below each other, each with a line of its name where there are several: no line of a part is such a one. */
function writtenParts(parts: readonly DocumentPart[]) {
  const isWhole = parts.every(({ name }) => name === "" || name === "text");
  const places: { name: string; line: number }[] = [];
  let line = 1;
  const texts = parts.map(({ name, text: own }) => {
    const text = isWhole ? own : own.replace(/^(?=[\p{Zs}\t]*-{3}.*-{3}[\p{Zs}\t]*$)/gmu, "\\");
    const written = `${name === "" || name === "text" ? "" : `--- ${name} ---\n`}${
      text.endsWith("\n") ? text : `${text}\n`
    }`;
    places.push({ name, line });
    line += written.split("\n").length - 1;
    return written;
  });
  return { bytes: new TextEncoder().encode(texts.join("")), places };
}

function wordsOf({ kind, title, summary, remarks }: DocumentText, { text }: WorkspacePath): string {
  const head = [kind.toUpperCase(), summary, ...title === undefined ? [] : [quoted(title)]];
  const source = textNames.test(text) ? [":source at the end of the name gives the file as it is edited"] : [];
  return [head.join(", "), ...source, ...remarks].join("; ").replaceAll(/\s+/g, " ").slice(0, maxWords);
}

const maxWords = 1_000;

/** Where pages behind those that one reading gave are asked for, it begins at one of a few: they are kept, too. */
const pagesApart = 100;

function isPageMissing({ kind, isCut, pages = Infinity, parts }: DocumentText, page: number): boolean {
  return kind === "pdf" && isCut === true && page <= pages && !parts.some(({ name }) => name === `p${page}`);
}

/** `p3-7`, `3`, `slides 2-`, `Q3`, `Q3!B2:F40`, `Q3!D:F`; of a single sheet also `B2:F40`. */
async function selectParts({ kind, parts }: DocumentText, asked: string, work: Share["work"]) {
  const wanted = asked.trim();
  const same = parts.filter(({ name }) => name !== "" && name.toLowerCase() === wanted.toLowerCase());
  if (same.length > 0) return success(same);
  const [, named, range] = /^(?:'?([^]*?)'?!)?(\$?[A-Z]{1,3}\$?\d{0,7}(?::\$?[A-Z]{1,3}\$?\d{0,7})?|\d{1,7}:\d{1,7})$/i
    .exec(wanted) ?? [];
  const sheet = named ?? (parts.length === 1 ? parts[0]?.name : undefined);
  if (range !== undefined && sheet !== undefined) {
    const found = parts.find(({ name }) => name.toLowerCase() === sheet.toLowerCase());
    const cells = found && await selectCells(found, range.replaceAll("$", "").toUpperCase(), work);
    if (cells) return success([cells]);
  }
  const [, unit = "", first, dash, end] = /^([a-z]*?)s?\s*(\d{1,6})\s*(?:(-|–|\.\.)\s*(?:[a-z]*\s*)?(\d{1,6})?)?$/i
    .exec(wanted) ?? [];
  if (first !== undefined) {
    const [from, to] = [Number(first), dash === undefined ? Number(first) : end === undefined ? Infinity : Number(end)];
    const found = parts.filter(({ name }) => {
      const [, own = "", number] = /^([a-z]*)\s*(\d+)$/i.exec(name) ?? [];
      const isUnit = own.toLowerCase().startsWith(unit.toLowerCase()) ||
        unit.toLowerCase().startsWith(own.toLowerCase());
      return number !== undefined && isUnit && Number(number) >= from && Number(number) <= to;
    });
    if (found.length > 0) return success(found);
  }
  const names = parts.map(({ name }) => name).filter((name) => name !== "").map(nameWords);
  const there = names.length === 0
    ? "it is one text without parts"
    : names.length <= 12
    ? `it has ${names.join(", ")}`
    : `it has ${names[0]} to ${names.at(-1)}`;
  const cells = kind === "xlsx" || kind === "ods" ? `; cells are named ${names[0]}!B2:F40 or ${names[0]}!D:F` : "";
  return failure(`it has no part ${JSON.stringify(wanted.slice(0, 60))}: ${there}${cells}`);
}

/** A part of a sheet's table, with its letters and numbers. */
async function selectCells({ name, text }: DocumentPart, range: string, work: Share["work"]) {
  const [from = "", to = from] = range.split(":");
  const [one, other] = [from, to].map((cell) => columnNumber(cell.replace(/\d+/, "")));
  const rowsOf = [from, to].map((cell, at) => Number(/\d+/.exec(cell)?.[0] ?? (at === 0 ? 1 : Infinity)));
  const columns = ordered(one || 1, other || Infinity); // 2:9 are whole rows
  const numbers = ordered(rowsOf[0] ?? 1, rowsOf[1] ?? Infinity);
  const lines = text.split("\n");
  const start = lines.findIndex((line) => /^\|\s*\|\s*[A-Z]{1,3}\b/.test(line));
  const letters = cellsOf(lines[start] ?? "").map((letter) => columnNumber(/[A-Z]+/.exec(letter)?.[0] ?? ""));
  if (start === -1) return null;
  const isIn = (number: number, [from, to]: readonly [number, number]): boolean => from <= number && number <= to;
  const rows: string[] = [];
  for (const [at, line] of lines.slice(start).entries()) {
    if (at % rowsOfStep === 0) await nextTurn(work);
    if (at > 1 && !isIn(Number.parseInt(line.slice(1)), numbers)) continue; // behind the letters and the line below them
    rows.push(`|${cellsOf(line).filter((_, at) => at === 0 || isIn(letters[at] ?? 0, columns)).join("|")}|`);
  }
  return { name: `${name}!${range}`, text: rows.join("\n") };
}

/** Rows that take a millisecond. */
const rowsOfStep = 256;

function ordered(one: number, other: number): readonly [number, number] {
  return [Math.min(one, other), Math.max(one, other)];
}

/** Between the bars of a row; `\|` is within a cell. */
function cellsOf(row: string): readonly string[] {
  return row.split(/(?<!\\)\|/).slice(1, -1);
}

// Which files are looked at as documents.

const names = /\.(?:pdf|do[ct][xm]?|xls[xmb]?|xlt[xm]|pp[ts][xm]?|pot[xm]|msg|od[tsp]|ot[tsp]|epub|eml|ipynb|rtf)$/i;
/** Of documents that are text, too, which `:source` gives as it is. */
const textNames = /\.(?:eml|ipynb|rtf|x?html?)$/i;
/** What tells that. */
const headBytes = 1_024;

/** Whether a file of this name may be one; its content decides. HTML is read as it is unless ":text" asks for its text. */
export function mayBeDocument(path: string, part?: string): boolean {
  return part === "source" ? false : names.test(path) || (part !== undefined && textNames.test(path));
}

/** Whether a file of this name is no text, but a document that a program packs. */
export function isPackedDocument(path: string): boolean {
  return names.test(path) && !textNames.test(path);
}

/** Whether it is HTML by its name, which is given as it is, or by `:text` as it is read. */
export function isPage(path: string): boolean {
  return /\.x?html?$/i.test(path);
}

/** Whether the reader of documents is asked: PDF, containers (ZIP, Office's old ones), and text of a kind that has a reader. */
function isDocument(path: string, head: Uint8Array): boolean {
  const start = new TextDecoder("latin1").decode(head.subarray(0, headBytes));
  return textNames.test(path) || start.includes("%PDF-") || start.startsWith("PK") ||
    start.startsWith("\xd0\xcf\x11\xe0");
}

/** Of a name whose end is looked at. */
const maxNamedCharacters = 4_096;

/** The ways in which the end of a name may ask for a part of a document: `report.pdf:p3`. */
export function documentParts(name: string): readonly { readonly filename: string; readonly part: string }[] {
  const colons = [...name.slice(0, maxNamedCharacters).matchAll(/:(?=[^/]*$)/g)].map(({ index }) => index);
  return colons.map((at) => ({ filename: name.slice(0, at), part: name.slice(at + 1) }))
    .filter(({ filename, part }) => part !== "" && (names.test(filename) || textNames.test(filename)));
}
