/**
 * No caller freezes the others: the short form of what `deno task soak hostile` begins with. Waits are judged by what the same
 * caller waits for on the same machine, in the same run, while nothing else is asked.
 */
import assert from "node:assert/strict";
import process from "node:process";
import type { FreezeRow } from "./measure.ts";
import { runFreezes } from "./run_freezes.ts";

const atOnce = [60];
const milliseconds = 300;
/** A freeze of seconds is hundreds of times as long as what an idle server takes, which is a few milliseconds. */
const allowedFactor = 150;
const maxPeakMebibytes = 200;

Deno.test("no tool, and no parameter of one, lets a caller keep another one waiting", async () => {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const isTooSlow = ({ worst, control }: FreezeRow, idle: number) => worst > allowedFactor * Math.max(idle, control);
  const { rows, idle, peakMebibytes, untried } = await runFreezes({ atOnce, milliseconds, say, isTooSlow });
  assert.deepEqual(untried, [], "each tool has calls in dear_calls.ts, and each parameter a value");
  assert.deepEqual(rows.flatMap(({ wrong }) => wrong), [], "the innocent caller is served");
  const frozen = rows.filter((row) => isTooSlow(row, idle));
  assert.deepEqual(frozen, [], `idle, its longest wait was ${idle.toFixed(0)} ms`);
  assert.ok((peakMebibytes ?? 0) <= maxPeakMebibytes, `${peakMebibytes?.toFixed(0)} MiB for calls of one kind`);
});
