/** Exact replacements in a text: how large the result is before it is made, and what changed. Pure functions. */
import { Buffer } from "node:buffer";
import { failure, type Result, success } from "../../lib/result.ts";
import { toEditDiff } from "./edit_diff.ts";
import { createTextFinder, type TextFinder } from "./finder.ts";

/** Why a replacement is refused. `count` is how often the old text is there. */
export type EditRefusal =
  | { readonly reason: "empty_old_text" }
  | { readonly reason: "same_text" }
  | { readonly reason: "not_there" }
  | { readonly reason: "not_unique"; readonly count: number }
  /** The result would be larger than allowed; it was not made. */
  | { readonly reason: "too_large"; readonly sizeBytes: number; readonly limitBytes: number };

/** A text with its replacements made. */
interface EditedText {
  readonly text: string;
  /** How many replacements there are. */
  readonly count: number;
  /** A unified diff, cut where it is long. */
  readonly diff: string;
}

interface Replacement {
  readonly oldText: string;
  readonly newText: string;
  /** Every occurrence; otherwise exactly one must be there. */
  readonly all: boolean;
}

/** Bounds of the result, and the file's name in the diff. */
interface EditOptions {
  readonly name: string;
  /** The largest result, in bytes of UTF-8. */
  readonly maxBytes: number;
  readonly maxDiffCharacters: number;
}

/** Replaces `oldText`, found from the start without overlaps. */
export function replaceText(
  text: string,
  { oldText, newText, all }: Replacement,
  { name, maxBytes, maxDiffCharacters }: EditOptions,
): Result<EditedText, EditRefusal> {
  if (oldText === "") return failure({ reason: "empty_old_text" });
  if (oldText === newText) return failure({ reason: "same_text" });
  const kept = splitAt(text, oldText.length, createTextFinder(oldText));
  const count = kept.length - 1;
  if (count === 0) return failure({ reason: "not_there" });
  if (count > 1 && !all) return failure({ reason: "not_unique", count });
  const sizeBytes = Buffer.byteLength(text) + count * (Buffer.byteLength(newText) - Buffer.byteLength(oldText));
  if (sizeBytes > maxBytes) return failure({ reason: "too_large", sizeBytes, limitBytes: maxBytes });
  const diff = toEditDiff({ text, kept, oldLength: oldText.length, newText }, {
    name,
    maxCharacters: maxDiffCharacters,
  });
  return success({ text: kept.join(newText), count, diff });
}

/** Says whether `oldText` is in `text` but for its line ends (CRLF against LF). */
export function differsInLineEnds(text: string, oldText: string): boolean {
  return createTextFinder(oldText.replaceAll("\r\n", "\n"))(text.replaceAll("\r\n", "\n"), 0) !== -1;
}

/** What lies before, between and behind the occurrences. */
function splitAt(text: string, length: number, find: TextFinder): string[] {
  const kept: string[] = [];
  let from = 0;
  for (let at = find(text, 0); at !== -1; at = find(text, from)) {
    kept.push(text.slice(from, at));
    from = at + length;
  }
  kept.push(text.slice(from));
  return kept;
}
