/** Forty jobs of a service desk through MCP, under each person's own rights, looked at in the instance's data. */
import assert from "node:assert/strict";
import type { DeskJob } from "../../fixtures/desk_jobs/job.ts";
import { deskPractices } from "../../fixtures/desk_jobs/jobs.ts";
import type { StandInOptions } from "../../fixtures/servicenow/instance.ts";
import { startDeskWorker } from "../../fixtures/desk_jobs/worker.ts";

const maxCalls = 3;
const page = await Deno.readTextFile(new URL("calls.md", import.meta.url));
const list = page.replaceAll(/\s+/g, " ");

/** The job in the list: the tools that it takes, without what their names have in common. */
function rowOf({ name }: DeskJob, calls: readonly string[]): string {
  return `- ${name} (${calls.map((tool) => tool.replace("servicenow_", "")).join(", ")})`;
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
        assert.ok(list.includes(rowOf(job, calls)), `calls.md has ${rowOf(job, calls)}`);
      });
    }
    assert.deepEqual(worker.instance.crashes, []);
    assert.deepEqual(worker.instance.scripts, []);
  });
}

/** Instances as they differ; each job is done in each, and what is said of it is true. */
const ways: readonly (readonly [way: string, habits: NonNullable<StandInOptions["habits"]>])[] = [
  ["closes names of fields and choices", { metadata: "admin_only" }],
  ["gives empty lists for what it closes", {
    hiddenTables: ["sys_dictionary", "sys_db_object", "sys_documentation", "sys_choice"],
    hiddenTableAnswer: "empty",
  }],
  ["does not say which fields have choices", { dictionaryChoice: "empty" }],
  ["counts after the rights", { totalCount: "after_acl" }],
  ["gives neither counts nor links", { totalCount: "absent", linkHeader: "absent" }],
  ["cuts a page after the rights, and reads dates in the person's zone", {
    pageCut: "after_acl",
    queryDates: "person_zone",
  }],
  ["closes its choices alone, and shows history in forms", { hiddenTables: ["sys_choice"], history: "history_set" }],
  ["closes its dictionary alone, and shows history", {
    hiddenTables: ["sys_dictionary", "sys_db_object", "sys_documentation"],
    history: "audit",
  }],
  ["closes fields, gives no links, and sorts rows of one rank as it likes", {
    ...{ linkHeader: "absent", ties: "any_order" },
    hiddenFields: ["incident.u_cost_centre", "incident.close_notes", "task.work_notes_list"],
  }],
  ["passes over conditions that a person may not ask for", { unreadableCondition: "ignored", invalidQuery: "no_rows" }],
];
/** Words that would be wrong in any of the jobs: everything in them exists. */
const untrue = /has no field|cannot be "|NOT taken|NOTHING was taken|may have ignored/;

for (const [way, habits] of ways) {
  Deno.test(`the jobs are done too where an instance ${way}`, async (test) => {
    await using worker = await startDeskWorker(habits); // the jobs of all practices, one after another, as at a desk
    for (const job of deskPractices.flatMap(({ jobs }) => jobs)) {
      await test.step(`${job.by}: ${job.name}`, async () => {
        const run: DeskJob["run"] = (agent) =>
          job.run({
            ...agent,
            async call(tool, input) {
              const text = await agent.call(tool, input);
              assert.doesNotMatch(text, untrue);
              return text;
            },
          });
        await worker.work({ ...job, run });
      });
    }
    assert.deepEqual(worker.instance.crashes, []);
    assert.deepEqual(worker.instance.scripts, []);
  });
}
