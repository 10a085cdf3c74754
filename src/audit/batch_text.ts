/**
 * The text of a batch. Who called what, with which outcome, is the same for many lines: the first of them spells it, the
 * others name that line. An earlier version shows the others without those fields.
 */
import { type AuditLine, auditLineEnd, decodeLine, encodeLine, encodeShortLine, type SharedFields } from "./line.ts";

interface SpelledLine {
  readonly index: number;
  readonly shared: SharedFields;
}

/** Encodes the lines of one batch. */
export interface BatchEncoder {
  /** The text of the next line, with its end. */
  encode(line: AuditLine): string;
}

/** Lines of one grant that others may name, and grants with such lines: all further lines are spelled. */
const maxSpelledOfGrant = 16;
const maxGrants = 500;
/** No field holds it: a single sign of percent is escaped. */
const spelledMark = "|%%";

export function createBatchEncoder(): BatchEncoder {
  const grants = new Map<string | null, SpelledLine[]>();
  let count = 0;
  return {
    encode(line) {
      const index = count++;
      let spelled = grants.get(line.grant);
      if (spelled !== undefined) {
        for (const each of spelled) {
          if (isShared(each.shared, line)) return encodeShortLine(line) + spelledMark + each.index + auditLineEnd;
        }
      } else if (grants.size < maxGrants) grants.set(line.grant, spelled = []);
      if (spelled !== undefined && spelled.length < maxSpelledOfGrant) spelled.push({ index, shared: line });
      return encodeLine(line) + auditLineEnd;
    },
  };
}

function isShared(first: SharedFields, second: SharedFields): boolean {
  return first.tool === second.tool && first.outcome === second.outcome && first.code === second.code &&
    first.event === second.event && first.person === second.person && first.client === second.client &&
    first.grant === second.grant && first.address === second.address;
}

/** The texts of a batch's lines, without their ends. */
export function splitLines(lines: string): readonly string[] {
  return lines.split(auditLineEnd).slice(0, -1);
}

/** The line that spells what `text`, one of `texts`, leaves out: `text` itself where that is nothing. */
export function spelledFor(texts: readonly string[], text: string): string {
  const at = text.lastIndexOf(spelledMark);
  return at < 0 ? text : texts[Number(text.slice(at + spelledMark.length))] ?? text;
}

/** The lines of a batch. */
export function decodeLines(lines: string): readonly AuditLine[] {
  const texts = splitLines(lines);
  return texts.map((text) => decodeLine(text, spelledFor(texts, text)));
}
