/** Names in another Unicode form than the one that is typed, on disk and in the store. */
import assert from "node:assert/strict";
import { systemClock } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import { at, tree } from "../workspace/contract.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

const apart = "Cafe\u0301";
const composed = "Caf\u00e9";

async function exercise(workspace: Workspace): Promise<void> {
  const bytes = new TextEncoder().encode("espresso\n");
  for (const path of [`${apart}/${apart}.txt`, "both", apart.toLowerCase(), composed.toLowerCase()]) {
    assert.ok((await workspace.write(at(path), bytes)).ok, path);
  }
  const typed = `${composed}/${composed}.txt`;
  const stored = `${apart}/${apart}.txt`;
  assert.equal((await answerOf(fileReadTool(() => workspace), { filename: typed })).text, "espresso\n");
  assert.match(
    (await answerOf(fileReadTool(() => workspace), { filename: `${typed}:1-1` })).texts.join(),
    /1\tespresso/,
  );
  assert.match((await answerOf(fileListTool(() => workspace), { path: composed })).text, /\.txt/);
  assert.match((await answerOf(fileSearchTool(() => workspace), { path: typed, query: "press" })).text, /1: espresso/);
  const edit = { path: typed, old_text: "espresso", new_text: "lungo" };
  assert.equal((await answerOf(fileEditTool(() => workspace), edit)).structured["path"], stored);
  const written = await answerOf(fileWriteTool(() => workspace), { filename: typed, content: "mocha\n" });
  assert.deepEqual([written.structured["filename"], written.structured["created"]], [stored, false]);
  await answerOf(fileMoveTool(() => workspace), { path: typed, destination: `${apart}/new.txt` });
  await answerOf(fileDeleteTool(() => workspace), { path: `${composed}/new.txt` });
  // a name that is there is taken as it is typed, and a new one is made so
  await answerOf(fileDeleteTool(() => workspace), { path: composed.toLowerCase() });
  await answerOf(fileWriteTool(() => workspace), { filename: "\u00fc.txt", content: "" });
  assert.equal((await failureOf(fileReadTool(() => workspace), { filename: "\u00f6.txt" })).code, "not_found");
  assert.deepEqual(await tree(workspace), [`${apart}/`, "both", apart.toLowerCase(), "\u00fc.txt"]);
}

Deno.test("a name in another Unicode form is found on the disk", () =>
  withWorkspace(({ workspace }) => exercise(workspace)));

Deno.test("a name in another Unicode form is found in the store", async () => {
  const directory = Deno.makeTempDirSync({ prefix: "portcullis-" });
  const storage = openSqliteStorage({ path: `${directory}/store.sqlite`, clock: systemClock });
  const workspace = openStoreWorkspace({ storage, name: "shared" });
  await exercise(workspace);
  await workspace.close();
  await storage.close();
  Deno.removeSync(directory, { recursive: true });
});
