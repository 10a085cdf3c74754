/** The tool `file_list`: the entries of one directory. */
import { z } from "zod";
import { defineTool, type Tool } from "../mcp/tool.ts";
import { parseDirectoryPath } from "../workspace/path.ts";
import type { DirectoryEntry, Workspace } from "../workspace/port.ts";
import { showName } from "./file_display.ts";
import { toFailure, toPathFailure } from "./file_refusal.ts";

/** Lists directories of `workspace`. */
export function fileListTool(workspace: Workspace): Tool {
  const { maxListEntries } = workspace.limits;
  return defineTool({
    name: "file_list",
    title: "List files",
    description: `Lists a directory of the workspace, at most ${maxListEntries} entries. ` +
      "Names of directories end in a slash; links are shown without their target.",
    scopes: ["files:read"],
    annotations: { title: "List files", readOnlyHint: true, openWorldHint: false },
    input: z.object({
      path: z.string().default(".").describe("The directory's path in the workspace; the workspace itself if absent"),
    }),
    output: z.object({
      path: z.string().describe("The directory's path in the workspace; empty for the workspace itself"),
      entries: z.array(z.object({
        name: z.string().describe("The entry's name, exactly; escape it before showing it"),
        kind: z.enum(["file", "directory", "link", "other"]).describe("What the entry is"),
      })).describe("The entries, sorted by name"),
      truncated: z.boolean().describe("Whether entries are left out because of the limit"),
    }),
    async run({ path: text }) {
      const path = parseDirectoryPath(text);
      if (!path.ok) return toPathFailure("path", path.error);
      const result = await workspace.list(path.value);
      if (!result.ok) return toFailure("list directory", path.value, result.error);
      const { entries, truncated } = result.value;
      const lines = entries.map(toLine);
      if (entries.length === 0) lines.push("(no entries)");
      if (truncated) lines.push(`(only ${entries.length} entries are shown; there are more)`);
      return {
        ok: true,
        content: [{ type: "text", text: lines.join("\n") }],
        structuredContent: { path: path.value.text, entries, truncated },
      };
    },
  });
}

function toLine({ name, kind }: DirectoryEntry): string {
  const shown = showName(name);
  switch (kind) {
    case "file":
      return shown;
    case "directory":
      return `${shown}/`;
    case "link":
      return `${shown} (link)`;
    case "other":
      return `${shown} (pipe, socket or device)`;
  }
}
