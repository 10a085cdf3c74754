/** The tool `file_write`: creates, replaces or extends one file. */
import { z } from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import { parseFilePath } from "../../workspace/path.ts";
import { workspaceOf, type WorkspaceSource } from "../../workspace/port.ts";
import { showName } from "../../workspace/file_display.ts";
import { filenameInput, filenameOutput, ifMatchInput, sha256Output } from "./input.ts";
import { toFailure, toPathFailure } from "./refusal.ts";

const encoder = new TextEncoder();
const verbs = { create: "Created", overwrite: "Replaced", append: "Appended to" };

/** Writes text files to the workspace. */
export function fileWriteTool(source: WorkspaceSource): Tool {
  return defineTool({
    name: "file_write",
    title: "Write a file",
    description: "Writes text to a file in the workspace: by default it creates the file or replaces it as a whole. " +
      "Missing directories are made; readers see the old content or the new, never a mix.",
    scopes: ["files:write"],
    annotations: {
      title: "Write a file",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: false,
    },
    input: z.object({
      filename: filenameInput,
      content: z.string().describe("The text to write"),
      mode: z.enum(["overwrite", "create", "append"]).default("overwrite").describe(
        "overwrite creates or replaces the file; create refuses one that is there; append adds at its end",
      ),
      if_match: ifMatchInput,
    }),
    output: z.object({
      filename: filenameOutput,
      size_bytes: z.int().describe("The file's new size in bytes"),
      sha256: sha256Output,
      created: z.boolean().describe("Whether the file is new"),
    }),
    async run({ filename, content, mode, if_match: ifMatch }, { principal }) {
      const path = parseFilePath(filename);
      if (!path.ok) return toPathFailure("filename", path.error);
      if (!content.isWellFormed()) { // it would be stored as U+FFFD, without a word
        return {
          ok: false,
          code: "content_not_unicode",
          message: "Failed to write file: the content is not valid Unicode (unpaired surrogate)",
        };
      }
      const options = ifMatch === undefined ? { mode } : { mode, ifMatch };
      const result = await workspaceOf(source, principal).write(path.value, encoder.encode(content), options);
      if (!result.ok) return toFailure("write file", path.value, result.error);
      const { sizeBytes, sha256, created } = result.value;
      const text = `${created ? verbs.create : verbs[mode]} ${showName(path.value.text)} (${sizeBytes} bytes)`;
      return {
        ok: true,
        content: [{ type: "text", text }],
        structuredContent: { filename: path.value.text, size_bytes: sizeBytes, sha256, created },
      };
    },
  });
}
