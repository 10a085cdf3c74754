/** Free names: `report (2).txt` where there is a `report.txt`. */
import { maxNameBytes } from "./path.ts";

const encoder = new TextEncoder();
const longestExtension = 20; // bytes; what follows a dot further ahead is a part of the name

/** The name itself for 1; otherwise with the number before its extension, shortened where it would be too long. */
export function numberedName(name: string, number: number): string {
  if (number === 1) return name;
  const dot = name.lastIndexOf(".");
  const hasExtension = dot > 0 && encoder.encode(name.slice(dot)).byteLength <= longestExtension;
  const extension = hasExtension ? name.slice(dot) : "";
  const suffix = ` (${number})${extension}`;
  const stem = hasExtension ? name.slice(0, dot) : name;
  return cutToBytes(stem, maxNameBytes - encoder.encode(suffix).byteLength) + suffix;
}

/** As many whole characters from the start as fit. */
export function cutToBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let cut = "";
  for (const character of text) {
    bytes += encoder.encode(character).byteLength;
    if (bytes > maxBytes) break;
    cut += character;
  }
  return cut;
}
