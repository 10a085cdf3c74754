/** UTF-16, by its byte order mark or by what its bytes show without one. */

/** The two orders of bytes. */
export type WideEncoding = "utf-16le" | "utf-16be";

/** How much of a file without a mark is looked at. */
const sampleBytes = 4_096;
/** How many bytes of what reads as UTF-8, too, have to be 0. */
const leastZeroShare = 0.25;
/** Less is as likely to be anything else. */
const leastBytes = 8;
/** How many of its characters have to be of the commonest scripts. */
const leastCommonShare = 0.5;
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const common = /[\t\n\r -~\xa0-\u02ff\u0370-\u06ff\u3000-\u30ff\uac00-\ud7a3]/gu;
const impossible = /[^\P{Cc}\t\n\r\f]|\p{Cn}|\p{Co}|\p{Cs}/u;

/** The encoding that a byte order mark at the start names; `null` without one, and for that of UTF-8. */
export function markedEncoding(start: Uint8Array): WideEncoding | null {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  return start[0] === 0xfe && start[1] === 0xff ? "utf-16be" : null;
}

/** The same also without a mark, where the start of a file holds bytes of 0 and reads as text in UTF-16 alone. */
export function wideEncoding(start: Uint8Array): WideEncoding | null {
  const marked = markedEncoding(start);
  const sample = start.subarray(0, sampleBytes);
  if (marked !== null || start.length % 2 !== 0 || start.length < leastBytes || !sample.includes(0)) return marked;
  const zeros = [0, 0];
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  // a byte of 0 in a text of UTF-8 is a stray one, unless many characters have one
  const isStray = isUtf8(sample) && !sample.some((byte) => byte > 0 && byte < 0x09);
  if (isStray && Math.max(...zeros) < sample.length * leastZeroShare) return null;
  const encoding = (zeros[1] ?? 0) > (zeros[0] ?? 0) ? "utf-16le" : "utf-16be";
  const text = decodeWide(sample, encoding).replace(/[\ud800-\udbff]$/, "");
  const isText = !impossible.test(text) && (text.match(common)?.length ?? 0) >= text.length * leastCommonShare;
  return isText ? encoding : null;
}

/** Node's function of that name would bring Node's errors and buffers to each start. */
function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictUtf8.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** An even number of bytes as text, which may hold halves of pairs. */
export function decodeWide(bytes: Uint8Array, encoding: WideEncoding): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return (encoding === "utf-16le" ? buffer : Buffer.from(buffer).swap16()).toString("utf16le");
}
