/** How the lines of a text end. */

export type LineEnds = "LF" | "CRLF" | "mixed line ends";

/** `null` of a text without a line end. */
export function lineEndsOf(text: string): LineEnds | null {
  if (!text.includes("\n")) return null;
  if (!text.includes("\r\n")) return "LF";
  return /(?:^|[^\r])\n/.test(text) ? "mixed line ends" : "CRLF";
}
