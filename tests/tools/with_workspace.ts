/** Calls file tools on a disk workspace of their own. */
import assert from "node:assert/strict";
import type { ContentBlock, Tool } from "../../src/mcp/tool.ts";
import { type DiskWorkspaceOptions, openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { callTool } from "../workspace/call_tool.ts";
import { makeConfinedBase } from "../workspace/confined_base.ts";

/** A workspace with a directory beside it that is none of its business. */
export interface Scene {
  readonly root: string;
  readonly outside: string;
  readonly workspace: Workspace;
}

/** Runs `body` in a new scene. */
export async function withWorkspace(
  body: (scene: Scene) => void | Promise<void>,
  options: Omit<DiskWorkspaceOptions, "root"> = {},
): Promise<void> {
  const { root, outside, remove } = makeConfinedBase();
  const workspace = openDiskWorkspace({ root, ...options });
  try {
    await body({ root, outside, workspace });
  } finally {
    await workspace.close();
    remove();
  }
}

/** A successful answer: its blocks, the texts among them, the text of the first, and the structured content. */
export interface Answer {
  readonly blocks: readonly ContentBlock[];
  readonly texts: readonly string[];
  readonly text: string;
  readonly structured: Readonly<Record<string, unknown>>;
}

/** The answer of a call that must succeed. */
export async function answerOf(tool: Tool, input: unknown): Promise<Answer> {
  const outcome = await callTool(tool, input);
  assert.ok(outcome.ok, outcome.ok ? "" : outcome.message);
  const [first] = outcome.content;
  return {
    blocks: outcome.content,
    texts: outcome.content.flatMap((block) => block.type === "text" ? [block.text] : []),
    text: first?.type === "text" ? first.text : "",
    structured: outcome.structuredContent ?? {},
  };
}

/** The failure of a call that must be refused. */
export async function failureOf(
  tool: Tool,
  input: unknown,
): Promise<{ readonly code: string; readonly message: string }> {
  const outcome = await callTool(tool, input);
  assert.ok(!outcome.ok, "the call succeeded");
  return outcome;
}
