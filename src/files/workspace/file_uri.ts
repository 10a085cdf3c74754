/**
 * Addresses of workspace files, `workspace:///` and the path, and what the template `workspace:///{+path}` makes of a
 * value. Equivalent URIs name one file (RFC 3986 §6.2.2): the case of the scheme and of triplets, and which characters
 * are encoded, say nothing. Dot segments are refused, not removed.
 */
import { maxPathBytes, parseFilePath, type WorkspacePath } from "./path.ts";

const origin = "workspace:///";

/** The template of all addresses (RFC 6570 §3.2.3: reserved characters stand for themselves). */
export const fileUriTemplate = `${origin}{+path}`;

/** The address of a file. */
export function toFileUri(path: WorkspacePath): string {
  return `${origin}${encodePath(path)}`;
}

/** The path that an address names, or `null` for what is equivalent to nothing that {@link toFileUri} makes. */
export function parseFileUri(uri: string): WorkspacePath | null {
  // a byte needs at most three characters; nothing longer is worth decoding
  if (uri.length > origin.length + 3 * maxPathBytes || !isFileUri(uri)) return null;
  const written = uri.slice(origin.length);
  if (/[?#]|%2F/i.test(written)) return null; // a query, a fragment, or a slash within a name
  const text = decodeTriplets(written);
  const path = text === null || text.includes("\\") ? null : parseFilePath(text);
  // parsing drops dot segments and empty ones
  return path?.ok === true && path.value.text === text ? path.value : null;
}

/** Whether an address is of the workspace's files, whatever it names. */
function isFileUri(uri: string): boolean {
  return uri.slice(0, origin.length).toLowerCase() === origin; // RFC 3986 §3.1
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
