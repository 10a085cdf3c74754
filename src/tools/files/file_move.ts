/** The tools `file_move` and `file_copy`. */
import { z } from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import { parseDirectoryPath, parseFilePath } from "../../workspace/path.ts";
import { workspaceOf, type WorkspaceSource } from "../../workspace/port.ts";
import { showName } from "../../workspace/file_display.ts";
import { sha256Output } from "./input.ts";
import { toPairFailure, toPathFailure } from "./refusal.ts";

const destination = z.string().describe("The new path in the workspace, with the name itself; directories are made");
const overwrite = z.boolean().default(false).describe("Replace a file that is at the destination");
const annotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };

/** Moves or renames entries of the workspace. */
export function fileMoveTool(source: WorkspaceSource): Tool {
  return defineTool({
    name: "file_move",
    title: "Move or rename",
    description: "Moves or renames a file, directory or link in the workspace, in one step. " +
      "What is at the destination is kept, unless overwrite is set and both are files.",
    scopes: ["files:write"],
    annotations: { title: "Move or rename", ...annotations },
    input: z.object({
      filename: z.string().describe("The path in the workspace of what to move"),
      destination,
      overwrite,
    }),
    output: z.object({
      filename: z.string().describe("The path it had"),
      destination: z.string().describe("The path it has now"),
    }),
    async run({ filename, destination, overwrite }, { principal }) {
      if (filename === "") return toPathFailure("filename", "empty");
      const from = parseDirectoryPath(filename);
      if (!from.ok) return toPathFailure("filename", from.error);
      const to = destination === "" ? parseFilePath("") : parseDirectoryPath(destination);
      if (!to.ok) return toPathFailure("destination", to.error);
      const moved = await workspaceOf(source, principal).move(from.value, to.value, { overwrite });
      if (!moved.ok) return toPairFailure("move", { from: from.value, to: to.value }, moved.error);
      return {
        ok: true,
        content: [{ type: "text", text: `Moved ${showName(from.value.text)} to ${showName(to.value.text)}` }],
        structuredContent: { filename: from.value.text, destination: to.value.text },
      };
    },
  });
}

export function fileCopyTool(source: WorkspaceSource): Tool {
  return defineTool({
    name: "file_copy",
    title: "Copy a file",
    description: "Copies a file in the workspace. A file at the destination is kept unless overwrite is set.",
    scopes: ["files:write"],
    annotations: { title: "Copy a file", ...annotations },
    input: z.object({
      filename: z.string().describe("The path in the workspace of the file to copy"),
      destination,
      overwrite,
    }),
    output: z.object({
      filename: z.string().describe("The path of the original"),
      destination: z.string().describe("The path of the copy"),
      size_bytes: z.int().describe("The copy's size in bytes"),
      sha256: sha256Output,
    }),
    async run({ filename, destination, overwrite }, { principal }) {
      const from = parseFilePath(filename);
      if (!from.ok) return toPathFailure("filename", from.error);
      const to = parseFilePath(destination);
      if (!to.ok) return toPathFailure("destination", to.error);
      const copied = await workspaceOf(source, principal).copy(from.value, to.value, { overwrite });
      if (!copied.ok) return toPairFailure("copy file", { from: from.value, to: to.value }, copied.error);
      const { sizeBytes, sha256 } = copied.value;
      const text = `Copied ${showName(from.value.text)} to ${showName(to.value.text)} (${sizeBytes} bytes)`;
      return {
        ok: true,
        content: [{ type: "text", text }],
        structuredContent: { filename: from.value.text, destination: to.value.text, size_bytes: sizeBytes, sha256 },
      };
    },
  });
}
