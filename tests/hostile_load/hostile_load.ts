/**
 * `deno task soak hostile [--minutes 5] [--seed N] [--only WORD]`: hostile calls of every kind against the started server in a small heap,
 * while an innocent caller goes on. Prints the seed, the slowest answer that the innocent caller got, and the memory.
 * Ends with status 1 when the server ended, failed, or used too much. The dearest calls of every tool and method come
 * first, some 6 minutes on a quiet machine; with `--only`, those whose name holds the word, and nothing else.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import type { FreezeOptions } from "./freezes/measure.ts";
import { runFreezes } from "./freezes/run_freezes.ts";
import { runPageFreezes } from "./freezes/run_page_freezes.ts";
import { runHostileLoad } from "./run_hostile_load.ts";

const goalMilliseconds = 250;
const maxPeakMebibytes = 256;
const maxPeakOfOneKind = 200;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    only: { type: "string", default: "" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e9)) },
  },
});
const say = (line: string): void => void process.stdout.write(`${new Date().toISOString()} ${line}\n`);
try {
  const options: FreezeOptions = { atOnce: [1, 60], milliseconds: 1_500, say, only: values.only };
  const [ofTools, ofPages] = [await runFreezes(options), await runPageFreezes(options)];
  const rows = [...ofTools.rows, ...ofPages.rows];
  const peak = Math.max(0, ...rows.flatMap((row) => row.peak ?? []));
  const worst = rows.toSorted((one, other) => other.worst - one.worst)[0];
  say(
    `no call kept another caller waiting for more than ${
      ((worst?.worst ?? 0) - Math.max(ofTools.idle, ofPages.idle)).toFixed(0)
    } ms above idle ` +
      `(${worst?.name}, ${worst?.atOnce} at once), goal ${goalMilliseconds}; ` +
      `memory ${peak.toFixed(0)} MiB more for calls of one kind`,
  );
  if (peak > maxPeakOfOneKind) throw new Error("calls of one kind took too much memory");
  if (values.only !== "") process.exit(0);
  const report = await runHostileLoad({ seed: Number(values.seed), seconds: Number(values.minutes) * 60, say });
  const { counts, largestAnswer, innocent, peakMebibytes } = report;
  for (const [attack, number] of [...counts].sort()) process.stdout.write(`${String(number).padStart(8)}  ${attack}\n`);
  say(`largest answer: ${largestAnswer.bytes} bytes to ${largestAnswer.attack}`);
  say(
    `innocent caller: ${innocent.answers} answers, slowest ${innocent.slowestMilliseconds.toFixed(0)} ms ` +
      `(${innocent.slowestCall}), 99 of 100 within ${innocent.p99Milliseconds.toFixed(0)} ms; goal ${goalMilliseconds}`,
  );
  say(
    `an idle server on the same machine: slowest ${innocent.idleSlowestMilliseconds.toFixed(0)} ms, 99 of 100 within ` +
      `${innocent.idleP99Milliseconds.toFixed(0)} ms`,
  );
  for (const [what, number] of Object.entries(innocent.wrong)) say(`innocent caller refused ${number} times: ${what}`);
  say(`memory: at most ${peakMebibytes?.toFixed(0) ?? "?"} MiB above rest`);
  if (peakMebibytes !== null && peakMebibytes > maxPeakMebibytes) {
    throw new Error(`the server used ${peakMebibytes.toFixed(0)} MiB above rest, ${maxPeakMebibytes} are allowed`);
  }
} catch (error) {
  process.stderr.write(`seed ${values.seed}: ${error instanceof Error ? error.stack : error}\n`);
  process.exit(1);
}
