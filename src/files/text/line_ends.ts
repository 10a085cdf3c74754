/** How the lines of a text end. */

export type LineEnds = "LF" | "CRLF" | "CR" | "mixed line ends";

/** `null` of a text without a line end. CR alone counts where there is no LF. */
export function lineEndsOf(text: string): LineEnds | null {
  if (!text.includes("\n")) return text.includes("\r") ? "CR" : null;
  if (!text.includes("\r\n")) return "LF";
  return /(?:^|[^\r])\n/.test(text) ? "mixed line ends" : "CRLF";
}
