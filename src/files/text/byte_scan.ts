/**
 * Tells of most files that nothing in them can match, without making a string of their bytes: a few places of a match that
 * follow each other are looked for with vector instructions.
 */
import { isUtf8 } from "node:buffer";
import type { Place } from "./byte_screen.ts";
import { loadScanProgram, maxPlaces, scanLayout, type ScanProgram, seen } from "./scan_program.ts";

/** Whether the first bytes are UTF-8 without a NUL and hold no match, as far as that is known at once. */
export type ByteScan = (bytes: Uint8Array, length?: number) => boolean;

const anyByte = Array.from({ length: 256 }, (_, byte) => byte);
let program: ScanProgram | undefined;
/** The tables that the program has. */
let used: Uint8Array | undefined;

/** Where bytes are scanned without a copy: between two reads of it, nothing else may run. */
export function scannedBytes(): Uint8Array<ArrayBuffer> {
  return (program ??= loadScanProgram()).text;
}

/** Looks for these places one after the other: {@link maxPlaces} or fewer. */
export function createByteScan(places: readonly Place[]): ByteScan {
  const { low, high, before, half, text: tablesEnd, maxTextBytes } = scanLayout;
  const tables = new Uint8Array(tablesEnd);
  const missing = maxPlaces - places.length; // they come first, and take anything
  tables.fill((1 << missing) - 1, before, half).fill(0x0f, half);
  for (let place = 0; place < maxPlaces; place++) {
    for (const byte of places[place - missing]?.bytes ?? anyByte) {
      for (const at of [low + (byte & 0x0f), high + (byte >> 4)]) tables[at] = (tables[at] ?? 0) | (1 << place);
    }
  }
  const goesBeyond = places.some((place) => place.goesBeyond);
  return (bytes, length = bytes.length) => {
    if (length > maxTextBytes) return false;
    const { memory, text, scan } = program ??= loadScanProgram();
    if (used !== tables) memory.set(used = tables);
    if (bytes !== text) text.set(bytes.subarray(0, length));
    const told = scan(length);
    return told === 0 || (told === seen.beyondAscii && !goesBeyond && isUtf8(text.subarray(0, length)));
  };
}
