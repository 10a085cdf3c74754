/** The files of a workspace in pages, as `resources/list` gives them. */
import * as z from "zod";
import type { ResourcePage } from "../../mcp/resource.ts";
import { isTypable, showName } from "../workspace/file_display.ts";
import { unknownMediaType } from "../workspace/file_contents.ts";
import { mediaTypeOf } from "../workspace/media_type.ts";
import { rootPath } from "../workspace/path.ts";
import { FileSystemFault } from "../../lib/system_fault.ts";
import type { Workspace } from "../workspace/port.ts";
import { maxWalkDepth, walk, type WalkPosition } from "../workspace/walk.ts";
import { parseFileUri, toFileUri } from "../workspace/file_uri.ts";

/** Characters of addresses after which a page ends. */
const maxPageCharacters = 500_000;
const positionShape = z.lazy(() => z.tuple([z.boolean()], z.string()));

/**
 * The files after a position, a directory's in the order of names. Links are left out: what they lead to is listed
 * where it is. `null` for a position that is not one of ours.
 */
export async function listWorkspaceFiles(
  workspace: Workspace,
  position: string | undefined,
  limit: number,
): Promise<ResourcePage | null> {
  const after = position === undefined ? undefined : parsePosition(position);
  if (after === null) return null;
  const resources: ResourcePage["resources"][number][] = [];
  let visited = 0;
  let characters = 0;
  const options = { depth: maxWalkDepth, details: true, ...after === undefined ? {} : { after } };
  for await (const step of walk(workspace, rootPath, options)) {
    if (!step.ok && step.error.reason === "io") throw new FileSystemFault(step.error.code);
    if (!step.ok) break; // the workspace is gone: it has nothing to offer
    visited++;
    const { path, segments, kind, sizeBytes, mayHaveNext } = step.value;
    // without a size it disappeared meanwhile, or its name is no Unicode and so has no address
    if (kind === "file" && sizeBytes !== undefined && isTypable(path.text)) {
      const uri = toFileUri(path);
      const mimeType = mediaTypeOf(path.text);
      if (parseFileUri(uri) !== null) {
        characters += uri.length;
        resources.push({
          uri,
          name: showName(path.text),
          ...mimeType === unknownMediaType ? {} : { mimeType },
          size: sizeBytes,
        });
      }
    }
    const isEnough = resources.length >= limit || characters > maxPageCharacters ||
      visited >= workspace.limits.maxTreeEntries;
    if (mayHaveNext && isEnough) {
      return { resources, next: JSON.stringify([kind === "directory", ...segments]) };
    }
  }
  return { resources };
}

function parsePosition(text: string): WalkPosition | null {
  const parsed = positionShape.safeParse(JSON.parse(text));
  if (!parsed.success) return null;
  const [isDirectory, ...segments] = parsed.data;
  return { segments, isDirectory };
}
