/** Reads a document for a test, within the bound of a call. */
import { DocumentBudget, type DocumentText } from "../../src/files/documents/document.ts";
import { readDocument } from "../../src/files/documents/readers.ts";

const budgetBytes = 200_000_000;

export function read(bytes: Uint8Array | string, name = "a.docx"): Promise<DocumentText> {
  const given = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  return readDocument(given, name, new DocumentBudget(budgetBytes));
}

export async function textOf(bytes: Uint8Array | string, name?: string): Promise<string> {
  return (await read(bytes, name)).parts.map(({ text }) => text).join("\n---\n");
}
