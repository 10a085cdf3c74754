/** The tool `file_delete`. */
import * as z from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import { parseDirectoryPath } from "../../workspace/path.ts";
import { workspaceOf, type WorkspaceSource } from "../../workspace/port.ts";
import { showName, toPathText } from "../../workspace/file_display.ts";
import { inStoredForm, suggestNear } from "./near_names.ts";
import { toFailure, toPathFailure } from "./refusal.ts";

/** Deletes entries of the workspace. */
export function fileDeleteTool(source: WorkspaceSource): Tool {
  return defineTool({
    name: "file_delete",
    title: "Delete",
    description: "Deletes a file, a link (not its target) or a directory. It cannot be undone.",
    scopes: ["files:write"],
    annotations: {
      title: "Delete",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: false,
    },
    aliases: { filename: "path" },
    input: z.object({
      path: z.string().describe("What to delete"),
      recursive: z.boolean().default(false).describe("A directory with all that is in it"),
    }),
    output: z.object({
      path: z.string().describe("The path that was deleted"),
      deleted_entries: z.int().describe("How many files, links and directories were deleted"),
    }),
    async run({ path: text, recursive }, { principal }) {
      if (text === "") return toPathFailure("path", "empty");
      const parsed = parseDirectoryPath(text);
      if (!parsed.ok) return toPathFailure("path", parsed.error, text);
      const workspace = workspaceOf(source, principal);
      const path = await inStoredForm(workspace, parsed.value);
      const removed = await workspace.remove(path, { recursive });
      if (!removed.ok) return await suggestNear(workspace, path, toFailure("delete", path, removed.error));
      const { entries } = removed.value;
      const words = `Deleted ${showName(path.text)}${entries === 1 ? "" : ` (${entries} entries)`}`;
      return {
        ok: true,
        content: [{ type: "text", text: words }],
        structuredContent: { path: toPathText(path.text), deleted_entries: entries },
      };
    },
  });
}
