/** Which parameter a caller meant by a name that the tool does not have. */
import { closestWord } from "../lib/closest_word.ts";

/** Names that the tools of other servers, and models, use for one thing. */
const synonyms: readonly (readonly string[])[] = [
  ["path", "filename", "file", "file_path", "filepath", "name", "dir", "directory", "folder", "target", "uri"],
  ["from", "source", "src", "old_path", "path", "filename"],
  ["to", "destination", "dest", "dst", "new_path", "target"],
  ["content", "contents", "text", "data", "body"],
  ["old_text", "old", "old_string", "old_str", "find", "search", "oldtext"],
  ["new_text", "new", "new_string", "new_str", "replace", "replacement", "newtext"],
  ["query", "q", "search", "text", "regex", "pattern", "needle"],
  ["pattern", "glob", "include", "match", "name"],
  ["exclude", "ignore", "exclude_patterns"],
  ["ignore_case", "case_insensitive", "i"],
  ["limit", "max", "max_results", "head_limit", "count", "top", "n"],
  ["start_line", "offset", "from_line", "line", "view_range"],
  ["end_line", "to_line", "lines"],
  ["replace_all", "all", "global"],
  ["prompt", "question", "input", "query", "message"],
  ["max_tokens", "num_predict", "max_output_tokens"],
];

const maxNameCharacters = 64;

/** The parameter that is spelled nearly so, or that means the same; `null` when none does. */
export function nearestParameter(name: string, parameters: ReadonlySet<string>): string | null {
  if (name.length > maxNameCharacters) return null;
  const plain = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll("-", "_").replace(/^_/, "");
  if (parameters.has(plain)) return plain;
  for (const words of synonyms) {
    if (!words.includes(plain)) continue;
    const known = words.find((word) => parameters.has(word));
    if (known !== undefined) return known;
  }
  return closestWord(plain, [...parameters]);
}
