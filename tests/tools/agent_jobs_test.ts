/** The everyday jobs of an agent in a workspace that is kept in the database. */
import assert from "node:assert/strict";
import { systemClock } from "../../src/lib/time/clock.ts";
import { openSqliteStorage } from "../../src/storage/sqlite/sqlite_storage.ts";
import { fileDeleteTool } from "../../src/tools/files/file_delete.ts";
import { fileEditTool } from "../../src/tools/files/file_edit.ts";
import { fileListTool } from "../../src/tools/files/file_list.ts";
import { fileMoveTool } from "../../src/tools/files/file_move.ts";
import { fileReadTool } from "../../src/tools/files/file_read.ts";
import { fileSearchTool } from "../../src/tools/files/file_search.ts";
import { fileWriteTool } from "../../src/tools/files/file_write.ts";
import { defaultWorkspaceLimits } from "../../src/workspace/limits.ts";
import { openStoreWorkspace } from "../../src/workspace/store/store_workspace.ts";
import type { Agent } from "../fixtures/agent_jobs/job.ts";
import { jobs } from "../fixtures/agent_jobs/jobs.ts";
import { oldDate, recentDate, recentFiles, smallSize, workspaceFiles } from "../fixtures/agent_jobs/workspace.ts";
import { at } from "../workspace/contract.ts";
import { answerOf, failureOf } from "./with_workspace.ts";

Deno.test("an agent does the everyday jobs in a stored workspace", async (test) => {
  const directory = Deno.makeTempDirSync({ prefix: "portcullis-" });
  const storage = openSqliteStorage({ path: `${directory}/store.sqlite`, clock: systemClock });
  let now = oldDate.getTime();
  const limits = { ...defaultWorkspaceLimits, maxWriteBytes: 8_000_000 }; // the log is larger than one write may be
  const workspace = openStoreWorkspace({ storage, name: "shared", clock: () => now, limits });
  const whole = openStoreWorkspace({ storage, name: "shared", limits: { ...limits, maxReadBytes: 8_000_000 } });
  try {
    const write = async (path: string, bytes: Uint8Array): Promise<void> => {
      const written = await workspace.write(at(path), bytes);
      assert.ok(written.ok, path);
    };
    const recent: (readonly [string, Uint8Array])[] = [];
    for (const [path, bytes] of workspaceFiles(smallSize)) {
      if (recentFiles.includes(path)) recent.push([path, bytes]);
      else await write(path, bytes);
    }
    now = recentDate.getTime();
    for (const [path, bytes] of recent) await write(path, bytes);
    const makers = [
      ...[fileReadTool, fileSearchTool, fileListTool, fileEditTool, fileWriteTool, fileMoveTool, fileDeleteTool],
    ];
    const tools = new Map(makers.map((make) => make(workspace)).map((tool) => [tool.name, tool]));
    const toolOf = (name: string) => tools.get(name) ?? assert.fail(`there is no tool ${name}`);
    const agent: Agent = {
      onDisk: false,
      done: async (name, input) => (await answerOf(toolOf(name), input)).texts.join("\n"),
      refused: async (name, input) => (await failureOf(toolOf(name), input)).message,
      async bytes(path) {
        const read = await whole.read(at(path));
        return read.ok ? read.value.bytes : null;
      },
      save: (path, text) => write(path, new TextEncoder().encode(text)),
    };
    for (const { name, run } of jobs) await test.step(name, () => run(agent));
  } finally {
    await whole.close();
    await workspace.close();
    await storage.close();
    Deno.removeSync(directory, { recursive: true });
  }
});
