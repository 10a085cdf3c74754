/** Which files are looked at as documents. */

const names = /\.(?:pdf|do[ct][xm]?|xls[xmb]?|xlt[xm]|pp[ts][xm]?|pot[xm]|msg|od[tsp]|ot[tsp]|epub|eml|ipynb|rtf)$/i;
const textNames = /\.(?:eml|ipynb|rtf|x?html?)$/i;
/** What tells that. */
export const headBytes = 1_024;

/** Whether a file of this name may be one; its content decides. HTML is read as it is unless ":text" asks for its text. */
export function mayBeDocument(path: string, part?: string): boolean {
  return part === "source" ? false : names.test(path) || (part !== undefined && textNames.test(path));
}

/** Whether a file of this name is no text, but a document that a program packs. */
export function isPackedDocument(path: string): boolean {
  return names.test(path) && !textNames.test(path);
}

/** Whether a document of this name is text, too, which `:source` gives as it is. */
export function isTextDocument(path: string): boolean {
  return textNames.test(path);
}

/** Whether it is HTML by its name, which is given as it is, or by `:text` as it is read. */
export function isPage(path: string): boolean {
  return /\.x?html?$/i.test(path);
}

/** Whether the reader of documents is asked: PDF, containers (ZIP, Office's old ones), and text of a kind that has a reader. */
export function isDocument(path: string, head: Uint8Array): boolean {
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
