/** Files for their owner alone that are whole and on the disk before they have their name. */
import { chmodSync, closeSync, constants, copyFileSync, fsyncSync, openSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

/** Copies to a new file, 0600, and waits for the disk. */
export function copyDurably(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_EXCL);
  chmodSync(to, 0o600);
  syncFile(to);
}

/** Waits until what was written to the file is on the disk. */
export function syncFile(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Gives a file or directory its name for good. */
export function renameDurably(from: string, to: string): void {
  renameSync(from, to);
  if (process.platform === "win32") return; // directories cannot be opened there
  const directory = openSync(dirname(to), "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
