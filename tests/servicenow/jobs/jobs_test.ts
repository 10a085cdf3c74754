/** Forty jobs of a service desk through MCP, under each person's own rights, looked at in the instance's data. */
import assert from "node:assert/strict";
import type { DeskJob } from "../../fixtures/desk_jobs/job.ts";
import { deskPractices } from "../../fixtures/desk_jobs/jobs.ts";
import type { StandInOptions } from "../../fixtures/servicenow/instance.ts";
import { startDeskWorker } from "../../fixtures/desk_jobs/worker.ts";

const maxCalls = 3;
const page = await Deno.readTextFile(new URL("../../../docs/servicenow.md", import.meta.url));
const table = page.replaceAll(/ +/g, " ");

/** The job in the page's table: the tools that it takes, without what their names have in common. */
function rowOf({ name }: DeskJob, calls: readonly string[]): string {
  return `| ${name} | ${calls.map((tool) => tool.replace("servicenow_", "")).join(", ")} |`;
}

Deno.test("there are forty jobs, each of another name", () => {
  const names = deskPractices.flatMap(({ jobs }) => jobs.map(({ name }) => name));
  assert.equal(names.length, 40);
  assert.equal(new Set(names).size, names.length);
});

for (const { practice, jobs } of deskPractices) {
  Deno.test(`a service desk's jobs take at most ${maxCalls} calls each: ${practice}`, async (test) => {
    await using worker = await startDeskWorker();
    for (const job of jobs) {
      await test.step(`${job.by}: ${job.name}`, async () => {
        const { calls } = await worker.work(job);
        assert.ok(calls.length > 0 && calls.length <= maxCalls, `${calls.length} calls`);
        assert.ok(table.includes(rowOf(job, calls)), `docs/servicenow.md has ${rowOf(job, calls)}`);
      });
    }
    assert.deepEqual(worker.instance.crashes, []);
    assert.deepEqual(worker.instance.scripts, []);
  });
}

/** Instances that keep tables of names, or an API, from people who are not administrators. */
const closedWays: readonly (readonly [way: string, habits: StandInOptions["habits"], practices: readonly string[]])[] =
  [
    ["names of fields and choices", { metadata: "admin_only" }, ["problem", "approvals", "people and CI"]],
    ["the Knowledge API", { closedApis: ["sn_km_api/knowledge"] }, ["knowledge"]],
  ];

for (const [way, habits, practices] of closedWays) {
  Deno.test(`the jobs are done too where an instance closes ${way}`, async (test) => {
    for (const { practice, jobs } of deskPractices) {
      if (!practices.includes(practice)) continue;
      await using worker = await startDeskWorker(habits);
      for (const job of jobs) await test.step(`${job.by}: ${job.name}`, async () => void await worker.work(job));
    }
  });
}
