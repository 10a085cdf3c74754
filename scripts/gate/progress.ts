/** What the gate says while it runs: each test file as it ends, how many of how many, and roughly how much is left. */
import { secondsOf } from "./test_groups.ts";

/** Follows the output of one process of `deno test`. */
export interface FollowedProcess {
  line(text: string): void;
  /** The process has ended, and with it the last of its files. */
  end(): void;
}

export interface Progress {
  follow(): FollowedProcess;
  /** Says what runs, for times in which no file ends. */
  remind(): void;
}

export function createProgress(
  files: readonly string[],
  { write, now }: { readonly write: (line: string) => void; readonly now: () => number },
): Progress {
  const began = now();
  const left = new Set(files);
  const running = new Set<string>();
  const expected = (some: Iterable<string>): number => [...some].reduce((sum, file) => sum + secondsOf(file), 0);
  const whole = expected(files);

  /** From the pace so far; nothing before a tenth is done. */
  const remaining = (): string => {
    const open = expected(left);
    const done = whole - open;
    if (left.size === 0 || done < whole / 10) return "";
    const minutes = ((now() - began) / 60_000) * (open / done);
    return minutes < 1 ? ", less than a minute left" : `, about ${Math.round(minutes)} min left`;
  };

  return {
    follow() {
      let current: { readonly file: string; readonly tests: number; failed: number; skipped: number } | null = null;
      const end = (): void => {
        if (current === null) return;
        const { file, tests, failed, skipped } = current;
        running.delete(file);
        left.delete(file);
        current = null;
        const parts = [`${tests} ${tests === 1 ? "test" : "tests"}`];
        if (failed > 0) parts.push(`${failed} FAILED`);
        if (skipped > 0) parts.push(`${skipped} skipped`);
        write(`${files.length - left.size} of ${files.length}: ${file}: ${parts.join(", ")}${remaining()}`);
      };
      return {
        line(text) {
          const [, tests, file] = /^running (\d+) tests? from (?:\.\/)?(.*)$/.exec(text) ?? [];
          if (file !== undefined) {
            end();
            current = { file, tests: Number(tests), failed: 0, skipped: 0 };
            running.add(file);
          } else if (current !== null) {
            if (/ \.\.\. FAILED \(\S+\)$/.test(text)) current.failed++;
            if (/ \.\.\. ignored \(\S+\)$/.test(text)) current.skipped++;
          }
        },
        end,
      };
    },
    remind() {
      if (running.size > 0) write(`still running: ${[...running].sort().join(", ")}${remaining()}`);
    },
  };
}
