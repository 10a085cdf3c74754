/** The process that races: for ever, a directory becomes a link to one outside and back, and a file likewise. */
import { renameSync, rmSync } from "node:fs";

/**
 * Swaps `d` with `link` and `g` with `file-link`, in the workspace `root`, with a pause between two renames. `reversed`: the
 * file before the directory.
 */
export function swapUntilKilled(root: string, { pauseUs = 0, reversed = false } = {}): never {
  const pause = (): void => {
    for (const until = performance.now() + pauseUs / 1_000; performance.now() < until;);
  };
  const move = (from: string, to: string): void => {
    for (;;) {
      try {
        renameSync(`${root}/${from}`, `${root}/${to}`);
        return pause();
      } catch {
        removeIfPossible(`${root}/${to}`); // a write made the directory that was missing
      }
    }
  };
  const toLinks = [["d", "real"], ["link", "d"], ["g", "real-file"], ["file-link", "g"]] as const;
  const toFiles = [["d", "link"], ["real", "d"], ["g", "file-link"], ["real-file", "g"]] as const;
  // reversed, the file goes first and the directory last: what is checked first is swapped last
  const rounds = reversed
    ? [...toLinks.slice(2), ...toLinks.slice(0, 2), ...toFiles.slice(2), ...toFiles.slice(0, 2)]
    : [...toLinks, ...toFiles];
  for (;;) for (const [from, to] of rounds) move(from, to);
}

function removeIfPossible(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // and is at work in it
  }
}
