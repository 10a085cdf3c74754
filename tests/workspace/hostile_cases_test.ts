/** Every row of hostile_cases.ts against the file tools: nothing outside is read, changed or told. */
import assert from "node:assert/strict";
import type { ToolOutcome } from "../../src/mcp/tool.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { systemClock } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import { callTool, visibleText } from "./call_tool.ts";
import { type ConfinedBase, makeConfinedBase, secretText } from "./confined_base.ts";
import { diskModes } from "./disk_modes.ts";
import { type HostileCase, hostileCases, insideFile } from "./hostile_cases.ts";
import { copyIntoStore, fillIn, runSetup } from "./hostile_scene.ts";

interface Opened {
  readonly workspace: Workspace;
  /** Whether the workspace holds everything that the setup made. */
  readonly isFaithful: boolean;
  close(): Promise<void>;
}

for (const { name, kernel } of diskModes) {
  testBackend(`disk, ${name}`, (scene) => {
    const workspace = openDiskWorkspace({ root: scene.root, kernel });
    return Promise.resolve({ workspace, isFaithful: true, close: () => workspace.close() });
  });
}
testBackend("store", async (scene) => {
  const storage = openSqliteStorage({ path: `${scene.base}/store.sqlite`, clock: systemClock });
  const isFaithful = await copyIntoStore(storage, scene.root);
  const workspace = openStoreWorkspace({ storage, name: "shared" });
  return { workspace, isFaithful, close: () => workspace.close().then(() => storage.close()) };
});
function testBackend(backend: string, open: (scene: ConfinedBase) => Promise<Opened>): void {
  for (const hostile of hostileCases) {
    Deno.test(`${backend}: hostile case ${hostile.id}: ${hostile.why}`, async () => {
      const scene = makeConfinedBase();
      try {
        await runSetup(hostile.setup, scene);
        const { workspace, isFaithful, close } = await open(scene);
        try {
          const isPlain = hostile.setup === insideFile || hostile.setup === ":";
          assert.ok(isFaithful || !isPlain, "plain files must reach the store");
          await judge(hostile, scene, workspace, isFaithful);
        } finally {
          await close();
        }
      } finally {
        scene.remove();
      }
    });
  }
}

async function judge(
  hostile: HostileCase,
  scene: ConfinedBase,
  workspace: Workspace,
  isFaithful: boolean,
): Promise<void> {
  const tools = [fileReadTool(() => workspace), fileWriteTool(() => workspace), fileListTool(() => workspace)];
  const before = scene.fingerprint();
  const tool = tools.find(({ name }) => name === hostile.tool);
  assert.ok(tool, `no tool ${hostile.tool}`);
  const outcome = await callTool(tool, fillIn(hostile.args, scene));
  const answer = visibleText(outcome);
  const whole = JSON.stringify(outcome);
  for (const leaked of [secretText, "root:x:0", scene.base]) assert.ok(!whole.includes(leaked), `leaks ${leaked}`);
  for (const text of hostile.notContains ?? []) assert.ok(!answer.includes(text), `holds ${text}: ${answer}`);
  if (isFaithful) {
    assert.ok(hostile.accept.includes(kindOf(outcome)), `${kindOf(outcome)}: ${answer}`);
    if (outcome.ok) { for (const text of hostile.contains ?? []) assert.ok(answer.includes(text), `lacks ${text}`); }
  }
  assert.equal(scene.fingerprint(), before, "something outside the workspace changed");
}

function kindOf(outcome: ToolOutcome): HostileCase["accept"][number] {
  if (outcome.ok) return "ok";
  return outcome.code === "not_found" ? "not_found" : "deny";
}
