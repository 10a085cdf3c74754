/** What `file_write` says of line ends and encodings. */
import type { TextEncoding } from "../../../workspace/text/encoding.ts";
import { lineEndsOf } from "../../../workspace/text/line_ends.ts";
import type { StoredForm } from "../../../workspace/text/stored_form.ts";

/** What is other in the file now than before, and would surprise: its content is written as the caller gave it. */
export function noteOf(
  stored: StoredForm,
  { content, encoding, isAdded, isContinued }: {
    readonly content: string;
    readonly encoding: TextEncoding;
    readonly isAdded: boolean;
    readonly isContinued: boolean;
  },
): string {
  const ends = lineEndsOf(content);
  const isOther = ends !== null && stored.lineEnds !== null && ends !== stored.lineEnds;
  if (isAdded) {
    return [
      ...isContinued ? ["its last line had no end and goes on with what was added"] : [],
      ...isOther ? [`its line ends were ${stored.lineEnds}, those added are ${ends}`] : [],
    ].join("; ");
  }
  const isRecoded = stored.encoding !== encoding;
  const losesMark = stored.hasMark && encoding === "utf-8" && !content.startsWith("\ufeff");
  const was = [
    ...isOther ? [stored.lineEnds] : [],
    ...isRecoded ? [stored.encoding.toUpperCase()] : [],
    ...losesMark ? ["with a byte order mark"] : [],
  ];
  const is = [...isOther ? [ends] : [], ...isRecoded ? [encoding.toUpperCase()] : [], ...losesMark ? ["without"] : []];
  return was.length === 0 ? "" : `it was ${was.join(" and ")}, now ${is.join(" and ")}; file_edit would keep that`;
}
