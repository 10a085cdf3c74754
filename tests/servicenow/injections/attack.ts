/** An aim, and the texts that try it. */
export interface Attack {
  readonly aim: "query" | "path" | "table" | "record" | "field" | "file";
  readonly texts: readonly string[];
}

/** The lines of a text, each without the blanks around it. */
export function linesOf(text: string): readonly string[] {
  return text.trim().split("\n").map((line) => line.trim());
}
