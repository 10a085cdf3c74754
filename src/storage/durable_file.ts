/** Files for their owner alone that are whole and on the disk before they have their name. */
import { nodeFs } from "../lib/node_modules.ts";
import { parentOf } from "../lib/system_path.ts";

/** Copies to a new file, 0600, and waits for the disk. */
export function copyDurably(from: string, to: string): void {
  const { copyFileSync, constants } = nodeFs();
  copyFileSync(from, to, constants.COPYFILE_EXCL);
  Deno.chmodSync(to, 0o600);
  syncFile(to);
}

/** Waits until what was written to the file is on the disk. */
export function syncFile(path: string): void {
  sync(Deno.openSync(path, { read: true, write: true }));
}

/** Gives a file or directory its name for good. */
export function renameDurably(from: string, to: string): void {
  Deno.renameSync(from, to);
  if (Deno.build.os === "windows") return; // directories cannot be opened there
  sync(Deno.openSync(parentOf(to)));
}

function sync(file: Deno.FsFile): void {
  try {
    file.syncSync();
  } finally {
    file.close();
  }
}
