/**
 * `deno task bench desk`: what forty jobs of a service desk cost an agent, in calls and o200k tokens (arguments and answers),
 * through the started server against the stand-in instance; each job's outcome is checked (tests/fixtures/desk_jobs).
 * Then what a read takes beside a bare fetch of the same record.
 */
import { deskPractices } from "../tests/fixtures/desk_jobs/jobs.ts";
import { startDeskWorker } from "../tests/fixtures/desk_jobs/worker.ts";
import { compareLatency } from "./desk_latency.ts";
import { median, print } from "./table.ts";

const all: number[] = [];
print(`${"".padEnd(76)}${"calls".padStart(6)}${"tokens".padStart(8)}\n`);
for (const { practice, jobs } of deskPractices) {
  await using worker = await startDeskWorker();
  print(`${practice}\n`);
  for (const job of jobs) {
    const { calls, tokens } = await worker.work(job);
    all.push(tokens);
    print(`${`  ${job.name}`.padEnd(76)}${String(calls.length).padStart(6)}${String(tokens).padStart(8)}\n`);
  }
}
print(`\n${all.length} jobs, median ${median(all)} tokens, together ${all.reduce((sum, each) => sum + each, 0)}\n`);
for (const delayMs of [0, 20, 100]) await compareLatency(delayMs);
