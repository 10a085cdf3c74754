/** What a document holds, as text that a model reads. It is made in the thread without rights. */
export interface DocumentText {
  /** `pdf`, `docx`, `xlsx`, … */
  kind: string;
  title?: string | undefined;
  /** What there is, in one line: "12 pages", "3 sheets: Q1 (40 rows, 8 columns), …". */
  summary: string;
  /** What should be known before reading: "contains macros, which were not run", "page 3 is a scanned picture". */
  remarks: string[];
  /** Whether there is more in it that is not given. */
  isCut?: boolean;
  /** Of a PDF: all there are, given or not. */
  pages?: number;
  /** In order. `name` is what is asked for after the colon ("p3", "Q3", "slide 2", "cell 4"); `text` is Markdown. */
  parts: { name: string; text: string }[];
}

/** A page, sheet, slide, cell or chapter. */
export type DocumentPart = DocumentText["parts"][number];

/** What all its text may have. */
export const maxDocumentCharacters: number = 8 * 1024 * 1024;

/** Said of what would need more memory than its bounds. */
export const tooLarge: string = "its contents are too large when unpacked";

/** Why a document cannot be read, in words for the model that complete "cannot read file: ". */
export class DocumentRefusal extends Error {}

/** What one document may become: decompressed bytes are taken from it before they are allocated. */
export class DocumentBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  get left(): number {
    return this.#left;
  }

  take(bytes: number): void {
    if (bytes > this.#left) throw new DocumentRefusal(tooLarge);
    this.#left -= bytes;
  }
}

/** Reads one kind, a PDF from `firstPage` on. Throws a {@link DocumentRefusal} for what cannot be read. */
export type DocumentReader = (
  bytes: Uint8Array,
  budget: DocumentBudget,
  firstPage: number,
) => DocumentText | Promise<DocumentText>;

/** What a document says of itself, where it does. */
export function titleOf(said: string): string | undefined {
  return said.trim().replace(/\s+/g, " ") || undefined;
}

/** Words of a document within the server's own: no character of them ends the quotation. */
export function quoted(said: string): string {
  return `“${said.slice(0, 200).replace(/["“”„‟«»]/g, "'").replace(/[\s\p{C}]+/gu, " ").trim()}”`;
}

/** A name or an address of a document within the server's own words: quoted unless it is a plain one. */
export function nameWords(said: string): string {
  return /^[\p{L}\p{N}][\p{L}\p{N}\p{M} _.&-]{0,30}$|^[\w:/.%?&=#~+@-]{1,200}$/u.test(said) ? said : quoted(said);
}

/** The letters of a sheet's column, from 1. */
export function columnName(column: number): string {
  return column < 1 ? "" : columnName(Math.floor((column - 1) / 26)) + String.fromCharCode(65 + (column - 1) % 26);
}

export function columnNumber(letters: string): number {
  return [...letters].reduce((number, letter) => number * 26 + letter.charCodeAt(0) - 64, 0);
}
