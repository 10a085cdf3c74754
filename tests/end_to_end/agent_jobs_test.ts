/** The everyday jobs of an agent, done over HTTP and looked at on the disk. AGENT_JOBS=large: as much as repositories have. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import type { Agent } from "../fixtures/agent_jobs/job.ts";
import { jobs } from "../fixtures/agent_jobs/jobs.ts";
import { largeSize, makeAgentWorkspace, smallSize } from "../fixtures/agent_jobs/workspace.ts";
import { withFileServer } from "../fixtures/file_server.ts";

const size = Deno.env.get("AGENT_JOBS") === "large" ? largeSize : smallSize;

needing("workspace directory").test("an agent does twenty-four everyday jobs in few calls", async (test) => {
  assert.equal(jobs.length, 24);
  await withFileServer({ fill: (root) => makeAgentWorkspace(root, size) }, async ({ root, done, refused }) => {
    const agent: Agent = {
      onDisk: true,
      done: async (tool, input) => (await done(tool, input)).text,
      refused,
      bytes: (path) => Deno.readFile(`${root}/${path}`).catch(() => null),
      save: (path, text) => Deno.writeTextFile(`${root}/${path}`, text),
    };
    for (const { name, run } of jobs) await test.step(name, () => run(agent));
  });
});
