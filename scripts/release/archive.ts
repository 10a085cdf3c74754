/** The archive of a program as people download it: the program, its licence, and the notices of what it contains. */
import { gzipSync } from "node:zlib";
import { noticesName } from "./notices.ts";
import { tar } from "./tar.ts";
import { zip } from "./zip.ts";

/** What an archive is made of. */
export interface ArchiveOptions {
  /** As `deno compile` names it. */
  readonly target: string;
  readonly program: Uint8Array;
  readonly license: Uint8Array;
  readonly notices: Uint8Array;
}

/** A ZIP archive for Windows, a compressed tar archive for the others; the same bytes when it is made again. */
export function makeArchive(
  { target, program, license, notices }: ArchiveOptions,
): { readonly name: string; readonly bytes: Uint8Array } {
  const isWindows = target.includes("windows");
  const entries = [
    { name: isWindows ? "portcullis.exe" : "portcullis", bytes: program, executable: true },
    { name: "LICENSE", bytes: license, executable: false },
    { name: noticesName, bytes: notices, executable: false },
  ];
  const name = `portcullis-${target}`;
  return isWindows
    ? { name: `${name}.zip`, bytes: zip(entries) }
    : { name: `${name}.tar.gz`, bytes: gzipSync(tar(entries), { level: 9 }) };
}
