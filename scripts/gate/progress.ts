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

/** A file that a process has said it will run. */
interface AnnouncedFile {
  readonly file: string;
  readonly tests: number;
  ran: number;
  failed: number;
  skipped: number;
}

export function createProgress(
  files: readonly string[],
  { write, now }: { readonly write: (line: string) => void; readonly now: () => number },
): Progress {
  const began = now();
  const left = new Set(files);
  /** Of each process the files that have not ended, in their order: the first one runs. */
  const queues = new Set<AnnouncedFile[]>();
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
      const queue: AnnouncedFile[] = [];
      let since = now();
      queues.add(queue);
      const endFirst = (): void => {
        const ended = queue.shift();
        if (ended === undefined) return;
        const { file, tests, failed, skipped } = ended;
        left.delete(file);
        const parts = [`${tests} ${tests === 1 ? "test" : "tests"} in ${Math.round((now() - since) / 1_000)} s`];
        since = now();
        if (failed > 0) parts.push(`${failed} FAILED`);
        if (skipped > 0) parts.push(`${skipped} skipped`);
        write(`${files.length - left.size} of ${files.length}: ${file}: ${parts.join(", ")}${remaining()}`);
      };
      return {
        line(text) {
          const [, tests, file = ""] = /^running (\d+) tests? from (?:\.\/)?(.*)$/.exec(text) ?? [];
          if (left.has(file)) queue.push({ file, tests: Number(tests), ran: 0, failed: 0, skipped: 0 });
          const [, result] = /^\S.* \.\.\. (ok|FAILED|ignored) \(.*\)$/.exec(text) ?? [];
          const [first] = queue;
          if (result === undefined || first === undefined) return;
          if (result === "FAILED") first.failed++;
          if (result === "ignored") first.skipped++;
          if (++first.ran === first.tests) endFirst();
        },
        end() {
          while (queue.length > 0) endFirst();
          queues.delete(queue);
        },
      };
    },
    remind() {
      const running = Array.from(queues).flatMap(([first]) => first?.file ?? []).sort();
      if (running.length > 0) write(`still running: ${running.join(", ")}${remaining()}`);
    },
  };
}
