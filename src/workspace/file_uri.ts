/**
 * Addresses of workspace files, `workspace:///` and the path, and what the template `workspace:///{+path}` makes of a
 * value. A file has one spelling: a URI that differs in its percent-encoding alone names no file.
 */
import { maxPathBytes, parseFilePath, type WorkspacePath } from "./path.ts";

const origin = "workspace:///";

/** The template of all addresses (RFC 6570 §3.2.3: reserved characters stand for themselves). */
export const fileUriTemplate = `${origin}{+path}`;

/** The address of a file. */
export function toFileUri(path: WorkspacePath): string {
  return `${origin}${encodePath(path)}`;
}

/** The path that an address names, or `null` for anything that {@link toFileUri} does not make. */
export function parseFileUri(uri: string): WorkspacePath | null {
  // a byte needs at most three characters; nothing longer is worth decoding
  if (!uri.startsWith(origin) || uri.length > origin.length + 3 * maxPathBytes) return null;
  const text = decodeTriplets(uri.slice(origin.length));
  const path = text === null || text.includes("\\") ? null : parseFilePath(text);
  if (path === null || !path.ok) return null;
  // `%2F`, `%2e`, `//`, a query or a fragment: they decode to a path whose own address looks different
  return toFileUri(path.value) === uri ? path.value : null;
}

/** What to put into the template for a path: the path as it is, or encoded where the template would change it. */
export function toTemplateValue(path: WorkspacePath): string {
  return /[?#[\]]|%[0-9a-f]{2}/i.test(path.text) ? encodePath(path) : path.text;
}

/** The text that a value of the template names; `null` when its percent-encoding is not UTF-8. */
export function fromTemplateValue(value: string): string | null {
  // RFC 6570 §3.2.1: triplets pass, a `%` that begins none is a character
  return decodeTriplets(value.replace(/%(?![0-9a-f]{2})/gi, "%25"));
}

/** RFC 3986 §3.3: what a segment may hold as it is, is never encoded; everything else always is. */
function encodePath({ segments }: WorkspacePath): string {
  return segments
    .map((name) => encodeURIComponent(name.toWellFormed()).replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent))
    .join("/");
}

function decodeTriplets(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null; // not UTF-8, or a `%` without its digits
  }
}
