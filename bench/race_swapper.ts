/** The process that races: for ever, a directory becomes a link to one outside and back, and a file likewise. */
import { renameSync, rmSync } from "node:fs";

/** Swaps `d` with `link` and `g` with `file-link`, in the workspace `root`. */
export function swapUntilKilled(root: string): never {
  const move = (from: string, to: string): void => {
    for (;;) {
      try {
        return renameSync(`${root}/${from}`, `${root}/${to}`);
      } catch {
        removeIfPossible(`${root}/${to}`); // a write made the directory that was missing
      }
    }
  };
  for (;;) {
    move("d", "real");
    move("link", "d");
    move("g", "real-file");
    move("file-link", "g");
    move("d", "link");
    move("real", "d");
    move("g", "file-link");
    move("real-file", "g");
  }
}

function removeIfPossible(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // and is at work in it
  }
}
