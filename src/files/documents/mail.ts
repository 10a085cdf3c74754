/** E-mail messages (RFC 5322, MIME): headers, text, and what is attached by name. */
import PostalMime, { type Address, type Attachment } from "postal-mime";
import { type DocumentReader, titleOf } from "./document.ts";
import { countOf, oneLine } from "./flow.ts";
import { renderHtml } from "./html.ts";

/** Parts within each other; what headers may hold. */
const maxNestingDepth = 50;
const maxHeadersSize = 1_048_576;

export const readMail: DocumentReader = async (bytes, budget) => {
  budget.take(bytes.length * 2); // its parts are decoded
  const options = { maxNestingDepth, maxHeadersSize, maxRfc822NestingDepth: maxNestingDepth };
  const mail = await PostalMime.parse(bytes as Uint8Array<ArrayBuffer>, options);
  const page = mail.text?.trim() || mail.html === undefined ? null : renderHtml(mail.html, budget);
  const rows: [string, string | undefined][] = [
    ["From", mail.from && addressWords([mail.from])],
    ["To", addressWords(mail.to)],
    ["Cc", addressWords(mail.cc)],
    ["Date", mail.date],
    ["Subject", mail.subject],
    ["Attachments", mail.attachments.map(attachmentWords).join(", ")],
  ];
  const head = rows.filter(([, value]) => value).map(([name, value]) => `${name}: ${oneLine(value ?? "")}`).join("\n");
  return {
    kind: "eml",
    title: titleOf(mail.subject ?? ""),
    summary: countOf(mail.attachments.length, "attachment"),
    remarks: page?.remarks ?? [],
    parts: [{ name: "text", text: `${head}\n\n${page?.text ?? mail.text?.trim() ?? ""}` }],
  };
};

function addressWords(addresses: readonly Address[] = []): string {
  return addresses.flatMap((one) => one.group ?? [one]).map(({ name, address = "" }) =>
    name === "" || name === address ? address : `${name} <${address}>`
  ).join(", ");
}

function attachmentWords({ filename, mimeType, content }: Attachment): string {
  const size = typeof content === "string" ? content.length : content.byteLength;
  return `${filename ?? "unnamed"} (${mimeType}, ${countOf(size, "byte")})`;
}
