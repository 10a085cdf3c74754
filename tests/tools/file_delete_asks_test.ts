/** `file_delete` asks about large directories, where the client can ask. */
import assert from "node:assert/strict";
import { placeReader } from "../../src/app/approval.ts";
import { gateTool } from "../../src/console/approvals/gate.ts";
import { failure, success } from "../../src/lib/result.ts";
import type { Tool, ToolContext, ToolOutcome } from "../../src/mcp/tool.ts";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { quietCaller } from "../fixtures/quiet_context.ts";
import { principalOf } from "../workspace/call_tool.ts";
import { roomyTrash, tree } from "../workspace/contract.ts";
import { trashOf, undo } from "../workspace/trash_contract.ts";
import { withWorkspace } from "./with_workspace.ts";

type Reply = "accept" | "decline" | "cancel" | "none" | "gone" | "cannot ask";

let now = 0;
const deletingTool = (workspace: Workspace, isKept = true): Tool =>
  fileDeleteTool(() => workspace, { isKept, clock: () => now });

async function deleteWith(
  workspace: Workspace,
  reply: Reply,
  { tool = deletingTool(workspace), readingMs = 5_000 }: { readonly tool?: Tool; readonly readingMs?: number } = {},
): Promise<{ outcome: ToolOutcome; asked: string[] }> {
  const asked: string[] = [];
  const leaving = new AbortController();
  const context: ToolContext = {
    ...quietCaller,
    principal: principalOf("owner"),
    signal: leaving.signal,
    progress: () => {},
    supports: (ability) => ability === "elicitation" && reply !== "cannot ask",
    ask(questions) {
      now += readingMs;
      for (const question of Object.values(questions)) asked.push(JSON.stringify(question));
      if (reply === "gone") leaving.abort();
      if (reply === "none" || reply === "gone") {
        return Promise.resolve(failure({ reason: "timeout", message: "no answer" }));
      }
      const answers = Object.fromEntries(Object.keys(questions).map((key) => [key, { action: reply }]));
      return Promise.resolve(success(answers as never));
    },
  };
  const outcome = await tool.run({ path: "d", recursive: true } as never, context);
  return { outcome, asked };
}

const cases: readonly (readonly [Reply, number, boolean, number])[] = [
  ["accept", 101, true, 1],
  ["decline", 101, false, 1],
  ["cancel", 101, false, 1],
  ["none", 101, true, 1],
  ["cannot ask", 101, true, 0],
  ["decline", 100, true, 0],
];
for (const [reply, entries, isDeleted, questions] of cases) {
  Deno.test(`file_delete of a directory with ${entries} entries, where the answer is "${reply}": ${isDeleted ? "deleted" : "kept"}`, () =>
    withWorkspace(async ({ root, workspace }) => {
      Deno.mkdirSync(`${root}/d`);
      for (let n = 0; n < entries; n++) Deno.writeTextFileSync(`${root}/d/${n}`, "x");
      const { outcome, asked } = await deleteWith(workspace, reply);
      assert.equal(asked.length, questions);
      assert.equal(outcome.ok, isDeleted);
      if (!outcome.ok) assert.equal(outcome.code, "declined");
      assert.equal((await tree(workspace)).length, isDeleted ? 0 : entries + 1);
    }, { trash: roomyTrash }));
}

Deno.test("file_delete deletes nothing for a caller who leaves while it asks", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.mkdirSync(`${root}/d`);
    for (let n = 0; n < 101; n++) Deno.writeTextFileSync(`${root}/d/${n}`, "x");
    await assert.rejects(deleteWith(workspace, "gone"), { name: "AbortError" });
    assert.equal((await tree(workspace)).length, 102);
  }, { trash: roomyTrash }));

for (const reply of ["decline", "cancel"] as const) {
  Deno.test(`file_delete: "${reply}" sooner than a person reads goes to the trash, and refuses where nothing is kept`, () =>
    withWorkspace(async ({ root, workspace }) => {
      Deno.mkdirSync(`${root}/d`);
      for (let n = 0; n < 101; n++) Deno.writeTextFileSync(`${root}/d/${n}`, "x");
      const lasting = await deleteWith(workspace, reply, { tool: deletingTool(workspace, false), readingMs: 5 });
      assert.equal(lasting.outcome.ok, false);
      const { outcome, asked } = await deleteWith(workspace, reply, { readingMs: 5 });
      assert.deepEqual([outcome.ok, asked.length], [true, 1]);
      const [change] = await Array.fromAsync(trashOf(workspace).changes());
      await undo(workspace, change?.id ?? "");
      assert.equal((await tree(workspace)).length, 102);
    }, { trash: roomyTrash }));
}

Deno.test("file_delete asks nothing where a rule about the call has decided", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.mkdirSync(`${root}/d`);
    for (let n = 0; n < 101; n++) Deno.writeTextFileSync(`${root}/d/${n}`, "x");
    const current = [{ id: "1", tool: "file_delete", verdict: "allow" as const }];
    const rules = { current, load: () => Promise.resolve(), change: () => Promise.resolve(false), close: () => {} };
    const tool = gateTool(
      fileDeleteTool(() => workspace),
      {
        rules,
        clock: Date.now,
        log: { write: () => {} },
        pageUrl: "",
        nameOfClient: () => "",
        placeReader,
      } as unknown as Parameters<typeof gateTool>[1],
    );
    const { outcome, asked } = await deleteWith(workspace, "decline", { tool });
    assert.deepEqual([outcome.ok, asked], [true, []]);
  }, { trash: roomyTrash }));

Deno.test("a tree of more than 20,000 entries is deleted in one step, and comes back", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (let directory = 0; directory < 21; directory++) {
      Deno.mkdirSync(`${root}/d/${directory}`, { recursive: true });
      for (let n = 0; n < 1_000; n++) Deno.writeTextFileSync(`${root}/d/${directory}/${n}`, "");
    }
    const { outcome } = await deleteWith(workspace, "cannot ask");
    assert.ok(outcome.ok);
    assert.equal(outcome.structuredContent?.["deleted_entries"], 21_022);
    const [change] = await Array.fromAsync(trashOf(workspace).changes());
    assert.ok(change !== undefined);
    await undo(workspace, change.id);
    assert.equal([...Deno.readDirSync(`${root}/d/20`)].length, 1_000);
  }, { trash: roomyTrash }));

Deno.test("two instances of one workspace undo each other's changes", () =>
  withWorkspace(async ({ root, workspace }) => {
    const { openDiskWorkspace } = await import("../../src/files/disk/disk_workspace.ts");
    const other = openDiskWorkspace({ root, trash: roomyTrash });
    try {
      Deno.writeTextFileSync(`${root}/f`, "one");
      const begun = other.begin({ subject: "a", clientId: "b", grantId: "c", tool: "file_write" });
      assert.ok((await begun.write({ text: "f", segments: ["f"] }, new TextEncoder().encode("two"))).ok);
      const [change] = await Array.fromAsync(trashOf(workspace).changes());
      await undo(workspace, change?.id ?? "");
      assert.equal(Deno.readTextFileSync(`${root}/f`), "one");
      assert.equal((await trashOf(other).find(change?.id ?? ""))?.undoneBy !== null, true);
    } finally {
      await other.close();
    }
  }, { trash: roomyTrash }));
