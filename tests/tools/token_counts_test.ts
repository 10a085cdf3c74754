/** What models pay for the list of tools and for usual answers, in tokens of o200k. */
import assert from "node:assert/strict";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { systemClock } from "../../src/lib/time.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import type { Tool } from "../../src/mcp/tool.ts";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { llmTools } from "../../src/llm/llm_tools.ts";
import { fileUndoTool } from "../../src/files/tools/file_undo.ts";
import type { TransferLinks } from "../../src/files/transfer/port.ts";
import { makeAgentWorkspace, smallSize } from "../fixtures/agent_jobs/workspace.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { testModel } from "../fixtures/ollama_calls.ts";
import { answerOf, withWorkspace } from "./with_workspace.ts";

const maxListTokens = 1_600;
const maxWholeListTokens = 2_000;
const maxHitsTokens = 1_650;
const maxTreeTokens = 2_000;

/** For the list, which makes no link. */
const noLinks: TransferLinks = {
  forDownload: () => Promise.reject(new Error("not asked for")),
  forUpload: () => Promise.reject(new Error("not asked for")),
};

Deno.test("the tools for files and undo are listed in 1,600 tokens, with those of the local model in 2,000", () =>
  withWorkspace(async ({ workspace }) => {
    await using ollama = await startOllama({ models: [] });
    using local = testModel(ollama.url);
    const makers = [fileSearchTool, fileListTool, fileEditTool, fileMoveTool, fileDeleteTool, fileUndoTool];
    const linking = [fileReadTool, fileWriteTool];
    const models = llmTools({
      model: local.model,
      models: ["tinyllama", "phi3"],
      workspace: () => workspace,
      clock: systemClock,
    });
    const tools: readonly Tool[] = [
      ...linking.map((make) => make(() => workspace, noLinks)),
      ...makers.map((make) => make(() => workspace)),
      ...models,
    ];
    const tokensOf = (isListed: (name: string) => boolean): number =>
      createToolRegistry(tools.filter(({ name }) => isListed(name))).all().reduce(
        (sum, { tool: { name, description }, inputSchema }) =>
          sum + countTokens(JSON.stringify({ name, description, inputSchema })),
        0,
      );
    const tokens = [tokensOf((name) => name.startsWith("file_")), tokensOf(() => true)] as const;
    assert.ok(tokens[0] <= maxListTokens && tokens[1] <= maxWholeListTokens, String(tokens));
  }));

Deno.test("97 hits cost at most 1,650 tokens, a page of a large tree at most 2,000", () =>
  withWorkspace(async ({ root, workspace }) => {
    makeAgentWorkspace(root, smallSize);
    const hits = await answerOf(fileSearchTool(() => workspace), { query: "payload.issues.push" });
    assert.equal(hits.structured["hits"], 97);
    assert.ok(countTokens(hits.texts.join("\n")) <= maxHitsTokens);
    const page = await answerOf(fileListTool(() => workspace), { pattern: "**" });
    assert.match(page.text, /there is more: continue with cursor/);
    assert.ok(countTokens(page.texts.join("\n")) <= maxTreeTokens);
  }));
