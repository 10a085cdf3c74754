/** Runs a command that ends with a line of counts, as the gate and its second part do, and shows what it prints. */
import process from "node:process";
import { root } from "../bundle.ts";

export interface PartCounts {
  readonly passed: number;
  readonly failed: number;
  readonly ignored: number;
}

/**
 * The sum of the lines of counts that say how a run ended, such as `ok | 412 passed | 0 failed | 2 ignored (4 min)`: the
 * last one, or with `isEvery` all of them, for a command that runs one thing after another. `null` without one.
 */
export function readCounts(text: string, options: { readonly isEvery?: boolean } = {}): PartCounts | null {
  const lines = Array.from(
    text.matchAll(/^(?:ok|FAILED|bare machine) \| (\d+) passed.*? \| (\d+) failed(?: \| (\d+) ignored)?/gm),
  );
  const counted = options.isEvery ? lines : lines.slice(-1);
  if (counted.length === 0) return null;
  const sum = (at: number): number => counted.reduce((total, found) => total + Number(found[at] ?? 0), 0);
  return { passed: sum(1), failed: sum(2), ignored: sum(3) };
}

/** What came of a command: without a line of counts it is one thing that passed or failed. */
export async function runPart(
  [program = "", ...args]: readonly string[],
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly isEvery?: boolean;
    /** Where it prints, instead of standard output. */
    readonly show?: (text: string) => void;
  } = {},
): Promise<PartCounts> {
  const { show = (chunk: string): void => void process.stdout.write(chunk) } = options;
  const child = new Deno.Command(program, {
    args,
    cwd: root,
    env: { NO_COLOR: "1", ...options.env },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  let text = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    show(chunk);
    text += chunk;
  }
  const { success } = await child.status;
  const counts = readCounts(text, options) ?? { passed: success ? 1 : 0, failed: 0, ignored: 0 };
  return { ...counts, failed: success ? counts.failed : Math.max(counts.failed, 1) };
}
