/** Free names: `report (2).txt` where there is a `report.txt`. */
import { maxNameBytes } from "./path.ts";

const encoder = new TextEncoder();
const longestExtension = 20; // bytes; what follows a dot further ahead is a part of the name

/** The name with the number before its extension, and without one for 1; shortened where it would be too long. */
export function numberedName(name: string, number: number, maxBytes = maxNameBytes): string {
  const dot = name.lastIndexOf(".");
  const hasExtension = dot > 0 && encoder.encode(name.slice(dot)).byteLength <= longestExtension;
  const extension = hasExtension ? name.slice(dot) : "";
  const suffix = number === 1 ? extension : ` (${number})${extension}`;
  const stem = hasExtension ? name.slice(0, dot) : name;
  return cutToBytes(stem, maxBytes - encoder.encode(suffix).byteLength) + suffix;
}

/** As many whole characters from the start as fit. */
function cutToBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let cut = "";
  for (const character of text) {
    bytes += encoder.encode(character).byteLength;
    if (bytes > maxBytes) break;
    cut += character;
  }
  return cut;
}
