/**
 * No caller freezes the others: the short form of what `deno task soak hostile` begins with. Waits are judged by what the same
 * caller waits for on the same machine, in the same run, while nothing else is asked.
 */
import assert from "node:assert/strict";
import process from "node:process";
import type { FreezeOptions, FreezeRow, Measured } from "./measure.ts";
import { runFreezes } from "./run_freezes.ts";
import { runPageFreezes } from "./run_page_freezes.ts";

/** A freeze of seconds is hundreds of times as long as what an idle server takes, which is a few milliseconds. */
const allowedFactor = 150;
const maxPeakMebibytes = 200;
/** All of them are answered, which takes a while. */
const pagesAtOnce = 24;

function isTooSlow({ worst, control }: FreezeRow, idle: number): boolean {
  return worst > allowedFactor * Math.max(idle, control);
}

const options: FreezeOptions = {
  ...{ atOnce: [60], milliseconds: 300, isTooSlow },
  say: (line) => void process.stdout.write(`${line}\n`),
};

function assertNoneWaited({ rows, idle, peakMebibytes }: Measured): void {
  assert.deepEqual(rows.flatMap(({ wrong }) => wrong), [], "the innocent caller is served");
  const frozen = rows.filter((row) => isTooSlow(row, idle));
  assert.deepEqual(frozen, [], `idle, its longest wait was ${idle.toFixed(0)} ms`);
  assert.ok((peakMebibytes ?? 0) <= maxPeakMebibytes, `${peakMebibytes?.toFixed(0)} MiB for calls of one kind`);
}

Deno.test("no tool, and no parameter of one, lets a caller keep another one waiting", async () => {
  const { untried, ...measured } = await runFreezes(options);
  assert.deepEqual(untried, [], "each tool has calls in dear_calls.ts, and each parameter a value");
  assertNoneWaited(measured);
});

Deno.test("no page of the console keeps a caller waiting, whatever strangers and agents made it show", async () => {
  const measured = await runPageFreezes({ ...options, atOnce: [pagesAtOnce] }, { pagesAlone: true });
  assert.ok(measured.rows.length > 15, `${measured.rows.length} pages were tried`);
  assertNoneWaited(measured);
});
