/** Which lines of which file a name such as `src/a.ts:40-90` or `app.log:-50` asks for. */

/** Lines of a file: a range, or the last ones. Numbers start at 1. */
export interface LineRequest {
  readonly startLine?: number | undefined;
  readonly endLine?: number | undefined;
  readonly tail?: number | undefined;
}

/** A file name and the lines that its end asks for. */
interface NamedLines {
  readonly filename: string;
  readonly lines: LineRequest;
}

const maxLine = 1_000_000_000;

/** The name without its line suffix, and what the suffix asks for; `null` where the name has none. */
export function parseNamedLines(text: string): NamedLines | null {
  const [, filename, last, first, end] = /^([^]+):(?:-(\d{1,10})|(\d{1,10})(?:-(\d{0,10}))?)$/.exec(text) ?? [];
  if (filename === undefined) return null;
  if (last !== undefined) return isLine(last) ? { filename, lines: { tail: Number(last) } } : null;
  if (!isLine(first) && Number(first) !== 0) return null;
  const startLine = Math.max(1, Number(first)); // some count from 0
  if (end === "") return { filename, lines: { startLine } };
  if (end !== undefined && !isLine(end)) return null;
  const endLine = end === undefined ? startLine : Number(end);
  return { filename, lines: { startLine: Math.min(startLine, endLine), endLine: Math.max(startLine, endLine) } };
}

function isLine(text: string | undefined): boolean {
  return text !== undefined && Number(text) >= 1 && Number(text) <= maxLine;
}
