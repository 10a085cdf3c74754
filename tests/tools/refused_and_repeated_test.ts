/** Each remedy that a refusal of a file tool names works when the call is repeated with it. */
import assert from "node:assert/strict";
import { takingMachinePaths } from "../../src/app/protocol_server.ts";
import { parseToolInput } from "../../src/mcp/tool_call.ts";
import { createToolRegistry, type ToolRegistry } from "../../src/mcp/registry.ts";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { fileUndoTool } from "../../src/files/tools/file_undo.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { quietCaller } from "../fixtures/quiet_context.ts";
import { principalOf } from "../workspace/call_tool.ts";
import { type Arguments, refusedFileCalls } from "./refused_file_calls.ts";
import { withWorkspace } from "./with_workspace.ts";

/** `null` for a success, else the refusal. */
async function refusalOf(registry: ToolRegistry, name: string, args: Arguments): Promise<string | null> {
  const registered = registry.get(name) ?? assert.fail(name);
  const parsed = parseToolInput(registered, args);
  if (!parsed.ok) return parsed.error;
  const context = {
    principal: principalOf("owner"),
    signal: new AbortController().signal,
    progress: () => {},
    ...quietCaller,
  };
  const outcome = await registered.tool.run(parsed.value as never, context);
  return outcome.ok ? null : outcome.message;
}

function registryOf(workspace: Workspace): ToolRegistry {
  const makers = [
    fileReadTool,
    fileWriteTool,
    fileEditTool,
    fileListTool,
    fileSearchTool,
    fileMoveTool,
    fileDeleteTool,
  ];
  const tools = [...makers.map((make) => make(() => workspace)), fileUndoTool(() => workspace)];
  return createToolRegistry(tools.map((tool) => takingMachinePaths(tool, () => workspace)));
}

/** More than is edited, less than a file may have. */
const hugeBytes = 33_000_000;
const smallLimits = { maxTreeEntries: 60, maxWriteBytes: 1_500 };

Deno.test("the remedy that a refusal names works at the first repeat, for every kind of refusal", async () => {
  for (const [name, args, says, repeat] of refusedFileCalls) {
    await withWorkspace(async ({ root, workspace }) => {
      Deno.mkdirSync(`${root}/notes`);
      Deno.mkdirSync(`${root}/full`);
      Deno.writeTextFileSync(`${root}/full/c.txt`, "three\n");
      Deno.writeTextFileSync(`${root}/notes/a.txt`, "one\ntwo\ntwo\n");
      Deno.writeTextFileSync(`${root}/notes/b.txt`, "two\n");
      Deno.writeTextFileSync(`${root}/report-2025.md`, "r\n");
      Deno.writeFileSync(`${root}/latin.txt`, Uint8Array.of(0x63, 0x61, 0x66, 0xe9, 10));
      Deno.writeFileSync(`${root}/data.bin`, Uint8Array.of(0xff, 0, 1, 2));
      Deno.writeFileSync(`${root}/paper`, Uint8Array.of(...new TextEncoder().encode("%PDF-1.7"), 10, 0xff, 0, 1, 2));
      for (const odd of ["back\\slash", "notes/in\\it", "a b.txt"]) Deno.writeTextFileSync(`${root}/${odd}`, "i\n");
      for (const name of args["path"] === "many" ? ["one", "two"] : []) {
        Deno.mkdirSync(`${root}/many/${name}`, { recursive: true });
        for (let file = 0; file < smallLimits.maxTreeEntries / 2; file++) {
          Deno.writeTextFileSync(`${root}/many/${name}/${file}`, "");
        }
      }
      if (args["path"] === "huge") {
        using huge = Deno.openSync(`${root}/huge`, { write: true, create: true });
        huge.truncateSync(hugeBytes);
      }
      Deno.symlinkSync("nowhere", `${root}/dangling`);
      const registry = registryOf(workspace);
      const refusal = await refusalOf(registry, name, args);
      const found = says.exec(refusal ?? "(none)");
      assert.ok(found !== null, `${name} ${JSON.stringify(args)}: ${refusal}`);
      const next = repeat(found, args);
      const [tool, again] = Array.isArray(next) ? next : [name, next];
      assert.equal(await refusalOf(registry, tool, again), null, `${refusal} -> ${tool} ${JSON.stringify(again)}`);
    }, { limits: smallLimits, ...(args["path"] === "many" ? {} : { trash: { keepMs: 60_000, maxBytes: 1_000_000 } }) });
  }
});
