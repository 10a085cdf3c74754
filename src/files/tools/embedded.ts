/** A file as an embedded resource. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import { toResourceContents } from "../workspace/file_contents.ts";
import { parseFilePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";
import { suggestNear } from "./near_names.ts";
import { combineReads, mediaRead } from "./read_answer.ts";
import { toFailure, toPathFailure } from "./refusal.ts";

/** MCP server/tools, "Embedded Resources": the file under the address at which clients read it again or subscribe. */
export async function readEmbedded(workspace: Workspace, filename: string): Promise<ToolOutcome> {
  const path = parseFilePath(filename);
  if (!path.ok) return toPathFailure("filename", path.error, filename);
  const read = await workspace.read(path.value);
  if (!read.ok) {
    const failed = toFailure("read file", path.value, read.error);
    const remedy = read.error.reason === "too_large" ? "; leave embed out to read text in parts" : "";
    return await suggestNear(workspace, path.value, { ...failed, message: `${failed.message}${remedy}` });
  }
  const { sizeBytes, modifiedAt, sha256, bytes } = read.value;
  const resource = toResourceContents(path.value, bytes);
  return combineReads([mediaRead(path.value, { type: "resource", resource }, { sizeBytes, modifiedAt, sha256 })]);
}
