/** The tool `file_write`: creates or replaces one file. */
import { z } from "zod";
import { defineTool, type Tool } from "../mcp/tool.ts";
import { parseFilePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";
import { showName } from "./file_display.ts";
import { toFailure, toPathFailure } from "./file_refusal.ts";

const encoder = new TextEncoder();

/** Writes text files to `workspace`. */
export function fileWriteTool(workspace: Workspace): Tool {
  const { maxWriteBytes } = workspace.limits;
  return defineTool({
    name: "file_write",
    title: "Write a file",
    description: `Writes text to a file in the workspace, at most ${maxWriteBytes} bytes. ` +
      "An existing file is replaced in one step; missing directories are made.",
    scopes: ["files:write"],
    annotations: {
      title: "Write a file",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    },
    input: z.object({
      filename: z.string().describe("The file's path in the workspace, such as notes.txt or notes/today.txt"),
      content: z.string().describe("The whole new text of the file"),
    }),
    output: z.object({
      filename: z.string().describe("The file's path in the workspace"),
      sizeBytes: z.int().describe("The file's new size in bytes"),
      sha256: z.string().describe("SHA-256 of the file's content, in hexadecimal"),
      created: z.boolean().describe("Whether the file is new"),
    }),
    async run({ filename, content }) {
      const path = parseFilePath(filename);
      if (!path.ok) return toPathFailure("filename", path.error);
      if (!content.isWellFormed()) { // it would be stored as U+FFFD, without a word
        return {
          ok: false,
          code: "content_not_unicode",
          message: "Failed to write file: the content is not valid Unicode (unpaired surrogate)",
        };
      }
      const result = await workspace.write(path.value, encoder.encode(content));
      if (!result.ok) return toFailure("write file", path.value, result.error);
      const { sizeBytes, created } = result.value;
      const text = `${created ? "Created" : "Replaced"} ${showName(path.value.text)} (${sizeBytes} bytes)`;
      return {
        ok: true,
        content: [{ type: "text", text }],
        structuredContent: { filename: path.value.text, ...result.value },
      };
    },
  });
}
