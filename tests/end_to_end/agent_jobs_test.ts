/** The everyday jobs of an agent, done over HTTP and looked at on the disk. AGENT_JOBS=large: as much as repositories have. */
import assert from "node:assert/strict";
import type { Agent } from "../fixtures/agent_jobs/job.ts";
import { jobs } from "../fixtures/agent_jobs/jobs.ts";
import { largeSize, makeAgentWorkspace, smallSize } from "../fixtures/agent_jobs/workspace.ts";
import { withFileServer } from "../fixtures/file_server.ts";
import { testInEachWay } from "../fixtures/workspace_ways.ts";

const size = Deno.env.get("AGENT_JOBS") === "large" ? largeSize : smallSize;

testInEachWay("an agent does twenty-four everyday jobs in few calls", async ({ start }, test) => {
  assert.equal(jobs.length, 24);
  await withFileServer(
    { ...start, fill: (root) => makeAgentWorkspace(root, size) },
    async ({ root, done, refused }) => {
      const agent: Agent = {
        onDisk: true,
        done: async (tool, input) => (await done(tool, input)).text,
        refused,
        bytes: (path) => Deno.readFile(`${root}/${path}`).catch(() => null),
        save: (path, text) => Deno.writeTextFile(`${root}/${path}`, text),
      };
      for (const { name, run } of jobs) await test.step(name, () => run(agent));
    },
  );
});

testInEachWay("a link is moved and deleted as itself", async ({ start }) => {
  const fill = (root: string): void => {
    Deno.mkdirSync(`${root}/d`);
    Deno.writeTextFileSync(`${root}/d/kept`, "kept");
    Deno.symlinkSync("d", `${root}/link`);
    Deno.symlinkSync("nowhere", `${root}/d/dangling`);
  };
  await withFileServer({ ...start, fill }, async ({ root, done }) => {
    await done("file_move", { path: "link", destination: "moved" });
    assert.equal(Deno.readLinkSync(`${root}/moved`), "d");
    await done("file_delete", { path: "moved" });
    await done("file_delete", { path: "d/dangling" });
    assert.deepEqual(Array.from(Deno.readDirSync(`${root}/d`), ({ name }) => name), ["kept"]);
  });
});
