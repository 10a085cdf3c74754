/** The tool `directory_create`. */
import { z } from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import { parseDirectoryPath } from "../../workspace/path.ts";
import { workspaceOf, type WorkspaceSource } from "../../workspace/port.ts";
import { showName } from "../../workspace/file_display.ts";
import { toFailure, toPathFailure } from "./refusal.ts";

export function directoryCreateTool(source: WorkspaceSource): Tool {
  return defineTool({
    name: "directory_create",
    title: "Create a directory",
    description: "Makes a directory in the workspace with the directories that lead to it. " +
      "That it is there already is no error.",
    scopes: ["files:write"],
    annotations: {
      title: "Create a directory",
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    input: z.object({ path: z.string().describe("The directory's path in the workspace") }),
    output: z.object({
      path: z.string().describe("The directory's path in the workspace"),
      created: z.boolean().describe("Whether the directory is new"),
    }),
    async run({ path: text }, { principal }) {
      if (text === "") return toPathFailure("path", "empty");
      const path = parseDirectoryPath(text);
      if (!path.ok) return toPathFailure("path", path.error);
      const made = await workspaceOf(source, principal).makeDirectory(path.value);
      if (!made.ok) return toFailure("create directory", path.value, made.error);
      const { created } = made.value;
      return {
        ok: true,
        content: [{ type: "text", text: `${showName(path.value.text)}/ ${created ? "created" : "is there already"}` }],
        structuredContent: { path: path.value.text, created },
      };
    },
  });
}
