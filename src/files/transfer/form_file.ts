/** The file of a form (RFC 7578) as it arrives: the form of the upload page has one field, which is the file. */

/** Why a form brings no file. */
export class FormProblem extends Error {
  constructor(readonly reason: "no_file" | "malformed") {
    super(`The form brings no file: ${reason}`);
  }
}

/** What a form may have beside the file's bytes. */
export const maxFormBytes = 16_384;

/** The boundary of a form's parts (RFC 2046 §5.1.1); `null` for another body. */
export function formBoundary(contentType: string | null): string | null {
  const found = /^multipart\/form-data\s*;.*?boundary=(?:"([^"\r\n]{1,70})"|([^\s";,]{1,70}))[ \t]*(?:;|$)/i.exec(
    contentType ?? "",
  );
  return found?.[1] ?? found?.[2] ?? null;
}

/** The bytes of the first part, which has to be a file; what follows it is passed over. */
export async function* fileOfForm(pieces: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<Uint8Array> {
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  let rest = Buffer.from("\r\n", "latin1"); // the first delimiter may be the beginning of the body
  let state: "head" | "file" | "end" = "head";
  let passedBytes = 0;
  for await (const piece of pieces) {
    if (state === "end") {
      passedBytes += piece.byteLength;
      if (passedBytes > maxFormBytes) throw new FormProblem("malformed");
      continue;
    }
    rest = Buffer.concat([rest, piece]);
    if (state === "head") {
      const head = readHead(rest, delimiter);
      if (head === null) continue;
      requireFile(head.text);
      rest = rest.subarray(head.end);
      state = "file";
    }
    const end = rest.indexOf(delimiter);
    const ready = end === -1 ? Math.max(0, rest.length - delimiter.length + 1) : end;
    if (ready > 0) yield rest.subarray(0, ready);
    if (end === -1) rest = rest.subarray(ready);
    else state = "end";
  }
  if (state !== "end") throw new FormProblem("malformed");
}

/** The head of the first part, as soon as it is there. */
function readHead(body: Buffer, delimiter: Buffer): { readonly text: string; readonly end: number } | null {
  const start = body.indexOf(delimiter);
  const end = start === -1 ? -1 : body.indexOf("\r\n\r\n", start + delimiter.length, "latin1");
  if (end > maxFormBytes || (end === -1 && body.length > maxFormBytes)) throw new FormProblem("malformed");
  return end === -1 ? null : { text: body.toString("utf8", start + delimiter.length, end), end: end + 4 };
}

function requireFile(head: string): void {
  const disposition = /^content-disposition:[ \t]*form-data[ \t]*;(.*)$/im.exec(head)?.[1] ?? "";
  const name = /;[ \t]*filename="([^\r\n]*?)"(?:;|[ \t]*$)/i.exec(`;${disposition}`);
  if (!/(?:^|;)[ \t]*name="?file"?[ \t]*(?:;|$)/i.test(disposition) || name === null) {
    throw new FormProblem("malformed");
  }
  if (name[1] === "") throw new FormProblem("no_file");
}
