/** The everyday jobs of an agent, done over HTTP and looked at on the disk. AGENT_JOBS=large: as much as repositories have. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { systemClock } from "../../src/lib/time.ts";
import { dataFiles } from "../../src/storage/mod_settings.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { defaultWorkspaceLimits, type Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import type { Agent } from "../fixtures/agent_jobs/job.ts";
import { jobs } from "../fixtures/agent_jobs/jobs.ts";
import {
  largeSize,
  makeAgentWorkspace,
  oldDate,
  recentDate,
  recentFiles,
  smallSize,
  workspaceFiles,
} from "../fixtures/agent_jobs/workspace.ts";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { withFileServer } from "../fixtures/file_server.ts";
import { testInEachWay } from "../fixtures/workspace_ways.ts";
import { at } from "../workspace/contract.ts";

const size = Deno.env.get("AGENT_JOBS") === "large" ? largeSize : smallSize;

/** What the jobs may cost a model in the small workspace: the arguments of their calls as JSON, and the answers. */
const maxTokens = 40_000;

testInEachWay("an agent does thirty everyday jobs in few calls, and at most 40,000 tokens", async ({ start }, test) => {
  assert.equal(jobs.length, 30);
  await withFileServer(
    { ...start, fill: (root) => makeAgentWorkspace(root, size) },
    async ({ root, done, refused }) => {
      let tokens = 0;
      const pay = (input: Readonly<Record<string, unknown>>, answer: string): string => {
        tokens += countTokens(JSON.stringify(input)) + countTokens(answer);
        return answer;
      };
      const agent: Agent = {
        onDisk: true,
        done: async (tool, input) => pay(input, (await done(tool, input)).text),
        refused: async (tool, input) => pay(input, await refused(tool, input)),
        bytes: (path) => Deno.readFile(`${root}/${path}`).catch(() => null),
        save: (path, text) => Deno.writeTextFile(`${root}/${path}`, text),
      };
      for (const { name, run } of jobs) await test.step(name, () => run(agent));
      if (size === smallSize) assert.ok(tokens > 10_000 && tokens <= maxTokens, `${tokens} tokens`);
    },
  );
});

needing("data directory").test(
  "an agent does thirty everyday jobs in few calls: in the storage",
  async (test) => {
    const limits = { ...defaultWorkspaceLimits, maxReadBytes: 8_000_000, maxWriteBytes: 8_000_000 };
    let now = oldDate.getTime();
    let workspace: Workspace | null = null;
    const write = async (path: string, bytes: Uint8Array): Promise<void> => {
      assert.ok((await workspace?.write(at(path), bytes))?.ok, path);
    };
    let close = async (): Promise<void> => {};
    const fillData = async (dataDir: string): Promise<void> => {
      const storage = openSqliteStorage({ path: join(dataDir, dataFiles.database), clock: systemClock });
      const opened = openStoreWorkspace({ storage, name: "shared", clock: () => now, limits });
      close = async () => {
        await opened.close();
        await storage.close();
      };
      workspace = opened;
      const files = [...workspaceFiles({ ...smallSize, moduleFiles: 50 })]; // each is a commit
      for (const [path, bytes] of files) if (!recentFiles.includes(path)) await write(path, bytes);
      now = recentDate.getTime();
      for (const [path, bytes] of files) if (recentFiles.includes(path)) await write(path, bytes);
    };
    const env = { WORKSPACE_STORE: "storage" };
    try {
      await withFileServer({ env, fillData }, async ({ done, refused }) => {
        const agent: Agent = {
          onDisk: false,
          done: async (tool, input) => (await done(tool, input)).text,
          refused,
          async bytes(path) {
            const read = await workspace?.read(at(path));
            return read?.ok ? read.value.bytes : null;
          },
          save: (path, text) => write(path, new TextEncoder().encode(text)),
        };
        for (const { name, run } of jobs) await test.step(name, () => run(agent));
      });
    } finally {
      await close();
    }
  },
);

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
