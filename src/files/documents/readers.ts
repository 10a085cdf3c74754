/** Which reader a document needs: by its first bytes where they tell, else by its name. */
import { openContainer } from "./container.ts";
import { type DocumentBudget, type DocumentReader, DocumentRefusal, type DocumentText } from "./document.ts";
import { readExcel } from "./excel.ts";
import { readEpub, readHtml, readMail } from "./html.ts";
import { readNotebook } from "./notebook.ts";
import { readOpenDocument } from "./open_document.ts";
import { readPdf } from "./pdf.ts";
import { readPowerPoint } from "./powerpoint.ts";
import { readRichText } from "./rich_text.ts";
import { readWord } from "./word.ts";

const readers: Readonly<Record<string, DocumentReader>> = {
  ...{ pdf: readPdf, docx: readWord, xlsx: readExcel, pptx: readPowerPoint, odf: readOpenDocument },
  ...{ epub: readEpub, html: readHtml, eml: readMail, ipynb: readNotebook, rtf: readRichText },
};
/** Some writers of PDF put a line before its own first one. */
const pdfHeadBytes = 1_024;

/** Reads a document of any kind. What its reader cannot make sense of is refused as damaged. */
export async function readDocument(
  bytes: Uint8Array,
  name: string,
  budget: DocumentBudget,
  firstPage = 1,
): Promise<DocumentText> {
  try {
    const read = readers[kindOf(bytes, name, budget)];
    if (read === undefined) throw new DocumentRefusal("it is no document of a known kind");
    return await read(bytes, budget, firstPage);
  } catch (error) {
    if (error instanceof DocumentRefusal) throw error;
    throw new DocumentRefusal("it is damaged: its content is not what its kind prescribes");
  }
}

function kindOf(bytes: Uint8Array, name: string, budget: DocumentBudget): string {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, pdfHeadBytes));
  if (head.includes("%PDF-")) return "pdf";
  if (head.startsWith("\xd0\xcf\x11\xe0")) {
    // [MS-CFB]: names of streams are in UTF-16. An encrypted file of Office lies in such a one ([MS-OFFCRYPTO] §1.3.3).
    const isEncrypted = new TextDecoder("utf-16le").decode(bytes).includes("EncryptedPackage");
    throw new DocumentRefusal(
      isEncrypted
        ? "it is encrypted with a password"
        : /\.msg$/i.test(name)
        ? "it is a message of Outlook; save it as eml"
        : "it is in Office's old binary format; save it as docx, xlsx or pptx",
    );
  }
  const end = /\.(\w{1,8})$/.exec(name)?.[1]?.toLowerCase() ?? "";
  if (!head.startsWith("PK")) return end === "htm" || end === "xhtml" ? "html" : end;
  const { names } = openContainer(bytes, budget);
  if (names.includes("xl/workbook.bin")) throw new DocumentRefusal("it is a binary workbook; save it as xlsx");
  const folder = names.map((entry) => /^(word|xl|ppt)\//.exec(entry)?.[1]).find((found) => found !== undefined);
  if (folder !== undefined) return { word: "docx", xl: "xlsx", ppt: "pptx" }[folder] ?? "";
  return names.includes("meta-inf/container.xml") ? "epub" : names.includes("content.xml") ? "odf" : "";
}
