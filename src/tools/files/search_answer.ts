/** The answer of the tool `file_search`. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import type { LineMatch } from "../../workspace/text/search_text.ts";
import { type SearchCursor, toSearchCursorText } from "./cursor.ts";
import { showName, showText } from "../../workspace/file_display.ts";

/** What was found: a line, or without one a file by its name. */
export interface SearchMatch {
  readonly filename: string;
  readonly line?: number;
  readonly text?: string;
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

/** What a search has come to. */
interface SearchProgress {
  readonly matches: readonly SearchMatch[];
  readonly searched: number;
  readonly passedOver: number;
  /** Where to go on; `null` at the end. */
  readonly next: SearchCursor | null;
}

/** The tool's answer in words and as data. */
export function toAnswer({ matches, searched, passedOver, next }: SearchProgress): ToolOutcome {
  const nextCursor = next === null || (next.finished === undefined && next.partial === undefined)
    ? undefined
    : toSearchCursorText(next);
  const lines = matches.map(toLines);
  if (matches.length === 0) lines.push(nextCursor === undefined ? "(nothing found)" : "(nothing found so far)");
  if (nextCursor !== undefined) lines.push(`(there may be more; go on with cursor ${nextCursor})`);
  return {
    ok: true,
    content: [{ type: "text", text: lines.join("\n") }],
    structuredContent: {
      matches,
      files_searched: searched,
      files_passed_over: passedOver,
      ...nextCursor === undefined ? {} : { next_cursor: nextCursor },
      untrusted: true,
    },
  };
}

export function toMatch(filename: string, { line, text, before, after }: LineMatch, hasContext: boolean): SearchMatch {
  return { filename, line, text, ...hasContext ? { before, after } : {} };
}

function toLines({ filename, line, text = "", before = [], after = [] }: SearchMatch): string {
  const name = showName(filename);
  if (line === undefined) return name;
  return [
    ...before.map((each, index) => `${name}-${line - before.length + index}- ${showText(each)}`),
    `${name}:${line}: ${showText(text)}`,
    ...after.map((each, index) => `${name}-${line + 1 + index}- ${showText(each)}`),
    ...before.length + after.length > 0 ? ["--"] : [],
  ].join("\n");
}
