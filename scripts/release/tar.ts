/** Writes tar archives: the same bytes for the same contents, whoever makes them and when (POSIX.1-1988, ustar). */
import { Buffer } from "node:buffer";

/** One file of an archive. */
export interface TarEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly executable: boolean;
}

const blockBytes = 512;
const maxNameBytes = 100;

/** The archive's bytes. */
export function tar(entries: readonly TarEntry[]): Uint8Array {
  const parts = entries.flatMap((entry) => [header(entry), entry.bytes, padding(entry.bytes.byteLength)]);
  return Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)]);
}

function padding(bytes: number): Buffer {
  return Buffer.alloc((blockBytes - bytes % blockBytes) % blockBytes);
}

function header({ name, bytes, executable }: TarEntry): Buffer {
  if (Buffer.byteLength(name) > maxNameBytes) throw new RangeError(`${name} is too long for a tar archive`);
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, length: number): void =>
    void block.write(value.toString(8).padStart(length - 1, "0"), at, "latin1");
  block.write(name, 0, "utf8");
  octal(executable ? 0o755 : 0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(bytes.byteLength, 124, 12);
  octal(0, 136, 12);
  block.write(" ".repeat(8), 148, "latin1"); // the checksum counts as blanks
  block.write("0", 156, "latin1");
  block.write("ustar\0" + "00", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}
