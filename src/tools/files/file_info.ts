/** The tool `file_info`: what is known of a file or directory without its content. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { failure, success } from "../../lib/result.ts";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import { parseDirectoryPath, type WorkspacePath } from "../../workspace/path.ts";
import { type Outcome, type Workspace, workspaceOf, type WorkspaceSource } from "../../workspace/port.ts";
import { showName } from "../../workspace/file_display.ts";
import { sha256Output, toTimestamp } from "./input.ts";
import { toFailure, toPathFailure } from "./refusal.ts";
import { mediaTypeOf } from "../../workspace/media_type.ts";

/** Describes files and directories of the workspace. */
export function fileInfoTool(source: WorkspaceSource): Tool {
  return defineTool({
    name: "file_info",
    title: "Describe a file",
    description:
      "Tells the kind, size, time of change and SHA-256 of a file in the workspace, or the kind and time of " +
      "a directory.",
    scopes: ["files:read"],
    annotations: { title: "Describe a file", readOnlyHint: true, openWorldHint: false },
    input: z.object({
      filename: z.string().describe("The path of the file or directory in the workspace"),
    }),
    output: z.object({
      filename: z.string().describe("The path in the workspace; empty for the workspace itself"),
      kind: z.enum(["file", "directory", "other"]).describe("What it is; links are followed"),
      size_bytes: z.int().optional().describe("A file's size in bytes"),
      mime_type: z.string().optional().describe("The media type that a file's name promises"),
      sha256: sha256Output.optional(),
      modified_at: z.string().describe("When it was last changed (ISO 8601)"),
    }),
    async run({ filename }, { principal }) {
      if (filename === "") return toPathFailure("filename", "empty");
      const path = parseDirectoryPath(filename);
      if (!path.ok) return toPathFailure("filename", path.error);
      const workspace = workspaceOf(source, principal);
      const found = await workspace.stat(path.value);
      if (!found.ok) return toFailure("describe file", path.value, found.error);
      const { kind, sizeBytes, modifiedAt } = found.value;
      const hashed = kind === "file" && sizeBytes <= workspace.limits.maxFileBytes
        ? await hashFile(workspace, path.value)
        : null;
      if (hashed !== null && !hashed.ok) return toFailure("describe file", path.value, hashed.error);
      const facts = {
        kind,
        ...kind === "file" ? { size_bytes: sizeBytes, mime_type: mediaTypeOf(path.value.text) } : {},
        ...hashed === null ? {} : { sha256: hashed.value },
        modified_at: toTimestamp(modifiedAt),
      };
      const name = path.value.text === "" ? "(the workspace)" : showName(path.value.text);
      const text = [name, ...Object.entries(facts).map(([key, value]) => `${key}: ${value}`)].join("\n");
      return {
        ok: true,
        content: [{ type: "text", text }],
        structuredContent: { filename: path.value.text, ...facts },
      };
    },
  });
}

async function hashFile(workspace: Workspace, path: WorkspacePath): Promise<Outcome<string>> {
  const digest = createHash("sha256");
  let offsetBytes = 0;
  let firstVersion: string | null = null;
  for (;;) {
    const read = await workspace.read(path, { offsetBytes, lengthBytes: workspace.limits.maxReadBytes });
    if (!read.ok) return read;
    const { bytes, sizeBytes, version } = read.value;
    if (version !== (firstVersion ??= version)) return failure({ reason: "conflict" });
    digest.update(bytes);
    offsetBytes += bytes.byteLength;
    if (offsetBytes >= sizeBytes || bytes.byteLength === 0) return success(digest.digest("hex"));
  }
}
