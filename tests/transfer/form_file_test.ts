/** The file of a form, however the network cuts it. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { fileOfForm, formBoundary, FormProblem } from "../../src/files/transfer/upload.ts";

const head = 'Content-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: text/plain\r\n\r\n';
const byte = fc.constantFrom("\r", "\n", "-", "b", "x", "\r\n--", "\r\n--b");

async function* inPieces(body: string, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  const shared = new Uint8Array(64); // each piece is good until the next is asked for
  let at = 0;
  for (let index = 0; at < body.length; index++) {
    const piece = Buffer.from(body.slice(at, at += sizes[index % sizes.length] ?? 1), "latin1");
    shared.set(piece);
    yield await Promise.resolve(shared.subarray(0, piece.length));
  }
}

async function read(body: string, sizes: readonly number[]): Promise<string> {
  let text = "";
  for await (const piece of fileOfForm(inPieces(body, sizes), "bound")) text += Buffer.from(piece).toString("latin1");
  return text;
}

Deno.test("the file of a form arrives byte by byte the same, and one that is cut is no file", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(byte, { maxLength: 60 }).map((parts) => parts.join("")),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 5 }),
      fc.nat({ max: 100 }),
      async (content, sizes, cut) => {
        const body = `--bound\r\n${head}${content}\r\n--bound--\r\n`;
        assert.equal(await read(body, sizes), content);
        const end = Math.min(cut, body.length - "--\r\n".length - 1); // all after the last boundary is passed over
        await assert.rejects(read(body.slice(0, end), sizes), FormProblem);
      },
    ),
    { numRuns: 300 },
  ));

Deno.test("the boundary of a form is read from its type (RFC 2046 §5.1.1), and is none of another body", () => {
  const rows: readonly (readonly [string | null, string | null])[] = [
    ["multipart/form-data; boundary=----WebKitFormBoundaryAbC123", "----WebKitFormBoundaryAbC123"],
    ['Multipart/Form-Data; charset=utf-8; boundary="a b:c"', "a b:c"],
    ["multipart/form-data;boundary=a ; charset=utf-8", "a"],
    ["multipart/form-data", null],
    ["multipart/form-data; boundary=", null],
    ['multipart/form-data; boundary=""', null],
    [`multipart/form-data; boundary=${"x".repeat(71)}`, null],
    ["multipart/mixed; boundary=a", null],
    ["text/plain; boundary=a", null],
    ["application/x-www-form-urlencoded", null],
    [null, null],
  ];
  for (const [type, boundary] of rows) assert.equal(formBoundary(type), boundary, type ?? "none");
});
