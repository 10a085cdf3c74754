/** The tool `file_move`: moves, renames and copies files and directories, and makes directories. */
import * as z from "zod";
import { defineTool, type Tool, type ToolOutcome } from "../../mcp/tool.ts";
import { showName, toPathText } from "../../workspace/file_display.ts";
import { entryPath, parseDirectoryPath, parseFilePath, type WorkspacePath } from "../../workspace/path.ts";
import type { Workspace, WorkspaceSource } from "../../workspace/port.ts";
import { copyDirectory } from "./copy_directory.ts";
import { destinationOf } from "./move_destination.ts";
import { inStoredForm, suggestNear, suggestRelative } from "./near_names.ts";
import { toFailure, toPairFailure, toPathFailure } from "./refusal.ts";
import { previewMove } from "./preview/preview.ts";
import { beginChange } from "./undo/changing.ts";
import { changingHints } from "../hints.ts";

/** Moves, copies and makes entries of the workspace. */
export function fileMoveTool(source: WorkspaceSource): Tool {
  return defineTool({
    name: "file_move",
    title: "Move, rename, copy",
    description: "Moves, renames or copies a file or directory (mv, cp), or makes a directory (mkdir).",
    scopes: ["files:write"],
    annotations: { title: "Move, rename, copy", ...changingHints },
    aliases: {
      ...{ filename: "path", from: "path", source: "path", old_path: "path" },
      ...{ to: "destination", target: "destination", new_path: "destination" },
    },
    input: z.lazy(() =>
      z.object({
        path: z.string().optional().describe("What to move; absent to make a directory"),
        destination: z.string().describe("New path, name included"),
        copy: z.boolean().default(false).describe("Keep the original"),
        overwrite: z.boolean().default(false).describe("Replace a file that is there"),
      })
    ),
    output: z.lazy(() =>
      z.object({
        path: z.string().optional(),
        destination: z.string(),
        created: z.boolean().optional().describe("Whether a directory is new"),
        files: z.int().optional().describe("Files that were copied"),
        size_bytes: z.int().optional(),
      })
    ),
    preview: (input: { readonly path?: string; readonly destination: string; readonly copy: boolean }, context) =>
      previewMove(source, input, context),
    async run({ path, destination, copy, overwrite }, context) {
      const to = destination === "" ? parseFilePath("") : parseDirectoryPath(destination);
      if (!to.ok) return toPathFailure("destination", to.error, destination);
      const workspace = beginChange(source, context, "file_move").workspace;
      if (path === undefined) return await makeDirectory(workspace, to.value);
      const from = path === "" ? parseFilePath("") : parseDirectoryPath(path);
      if (!from.ok) return await suggestRelative(workspace, "path", from.error, path);
      const moved = await inStoredForm(workspace, from.value);
      const pair = {
        from: moved,
        to: await destinationOf(workspace, moved, { text: destination, path: to.value }),
      };
      const outcome = copy
        ? await copyEntry(workspace, pair, { overwrite, signal: context.signal })
        : await moveEntry(workspace, pair, { overwrite });
      return await suggestNear(workspace, pair.from, await suggestInside(workspace, pair, outcome));
    },
  });
}

interface Pair {
  readonly from: WorkspacePath;
  readonly to: WorkspacePath;
}

/** Names the path in the directory that is at the destination, which is what `mv` and `cp` would have taken. */
async function suggestInside(workspace: Workspace, { from, to }: Pair, outcome: ToolOutcome): Promise<ToolOutcome> {
  const name = from.segments.at(-1);
  if (outcome.ok || name === undefined) return outcome;
  if (outcome.code !== "already_exists" && outcome.code !== "is_directory") return outcome;
  const there = await workspace.stat(to);
  if (!there.ok || there.value.kind !== "directory") return outcome;
  return { ...outcome, message: `${outcome.message}; did you mean ${showName(entryPath(to, name).text)}?` };
}

async function moveEntry(
  workspace: Workspace,
  { from, to }: Pair,
  options: { readonly overwrite: boolean },
): Promise<ToolOutcome> {
  const moved = await workspace.move(from, to, options);
  if (!moved.ok) return toPairFailure("move", { from, to }, moved.error);
  return {
    ok: true,
    content: [{ type: "text", text: `Moved ${showName(from.text)} to ${showName(to.text)}` }],
    structuredContent: { path: toPathText(from.text), destination: toPathText(to.text) },
  };
}

async function copyEntry(
  workspace: Workspace,
  { from, to }: Pair,
  { overwrite, signal }: { readonly overwrite: boolean; readonly signal: AbortSignal },
): Promise<ToolOutcome> {
  const copied = await workspace.copy(from, to, { overwrite });
  if (copied.ok) {
    const { sizeBytes } = copied.value;
    return {
      ok: true,
      content: [{ type: "text", text: `Copied ${showName(from.text)} to ${showName(to.text)} (${sizeBytes} bytes)` }],
      structuredContent: {
        path: toPathText(from.text),
        destination: toPathText(to.text),
        files: 1,
        size_bytes: sizeBytes,
      },
    };
  }
  const { reason, about } = copied.error;
  if (reason === "is_directory" && about === "from") return await copyDirectory(workspace, { from, to }, signal);
  return toPairFailure("copy", { from, to }, copied.error);
}

async function makeDirectory(workspace: Workspace, path: WorkspacePath): Promise<ToolOutcome> {
  const made = await workspace.makeDirectory(path);
  if (!made.ok) return toFailure("create directory", path, made.error);
  const { created } = made.value;
  return {
    ok: true,
    content: [{ type: "text", text: `${showName(path.text)}/ ${created ? "created" : "is there already"}` }],
    structuredContent: { destination: toPathText(path.text), created },
  };
}
