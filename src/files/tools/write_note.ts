/** The form in which `file_write` writes: that of the file which is there, and what it says of that. */
import type { TextEncoding } from "../workspace/encoding.ts";
import { lineEndsOf } from "../text/line_ends.ts";
import type { StoredForm } from "../text/stored_form.ts";

interface WrittenForm {
  readonly text: string;
  readonly encoding: TextEncoding;
  readonly note: string;
}

const mark = "\ufeff";

/** A new content in the form of the file. What the content says by itself counts: CR in it, or a byte order mark. */
export function inFormOf(
  stored: StoredForm | null,
  { content, isAdded, isContinued }: {
    readonly content: string;
    readonly isAdded: boolean;
    readonly isContinued: boolean;
  },
): WrittenForm {
  if (stored === null || stored.sizeBytes === 0) return { text: content, encoding: "utf-8", note: "" };
  const kept: string[] = [];
  const isMarked = content.startsWith(mark);
  const encoding = isMarked && !isAdded && !stored.encoding.startsWith("utf-16") ? "utf-8" : stored.encoding;
  if (encoding !== "utf-8" && !isAdded) kept.push(`encoding ${encoding.toUpperCase()}`);
  const getsMark = stored.hasMark && !isAdded && !isMarked && content !== "";
  if (getsMark) kept.push("byte order mark");
  const ends = lineEndsOf(content);
  const getsEnds = ends === "LF" && (stored.lineEnds === "CRLF" || stored.lineEnds === "CR");
  if (getsEnds) kept.push(`${stored.lineEnds} line ends`);
  const text = getsEnds ? content.replaceAll("\n", stored.lineEnds === "CR" ? "\r" : "\r\n") : content;
  const isOther = !getsEnds && ends !== null && stored.lineEnds !== null && ends !== stored.lineEnds;
  const note = [
    ...isContinued ? ["its last line had no end and goes on with what was added"] : [],
    ...isOther ? [`its line ends were ${stored.lineEnds}, those ${isAdded ? "added" : "written"} are ${ends}`] : [],
    ...kept.length > 0 ? [`it keeps its ${kept.join(", ")}`] : [],
  ].join("; ");
  return { text: getsMark ? mark + text : text, encoding, note };
}
