/** The tool `file_delete`. */
import * as z from "zod";
import { machineFaultWords } from "../../lib/system_fault.ts";
import { leastReadingMs } from "../../lib/time/reading_time.ts";
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from "../../mcp/tool.ts";
import { showName, toPathText } from "../../workspace/file_display.ts";
import { parseDirectoryPath, type WorkspacePath } from "../../workspace/path.ts";
import type { Workspace, WorkspaceSource } from "../../workspace/port.ts";
import { maxWalkDepth, walk } from "../../workspace/walk.ts";
import { toTimestamp } from "./input.ts";
import { inStoredForm, suggestNear, suggestRelative } from "./near_names.ts";
import { toFailure, toPathFailure } from "./refusal.ts";
import { previewDelete } from "./preview/preview.ts";
import { beginChange, type Changing } from "./undo/changing.ts";
import { changingHints } from "../hints.ts";

/** A directory with more entries is asked about first, where the client can ask. */
const maxUnaskedEntries = 100;

interface FileDeleteOptions {
  /** Whether what is deleted goes to the trash. */
  readonly isKept?: boolean;
  /** Milliseconds; only differences are used. */
  readonly clock?: () => number;
}

/** Deletes entries of the workspace. */
export function fileDeleteTool(
  source: WorkspaceSource,
  { isKept = true, clock = () => performance.now() }: FileDeleteOptions = {},
): Tool {
  return defineTool({
    name: "file_delete",
    title: "Delete",
    description: "Deletes a file, a link (not its target) or a directory. " +
      (isKept ? "file_undo undoes it." : "It cannot be undone."),
    scopes: ["files:write"],
    annotations: { title: "Delete", ...changingHints },
    aliases: { filename: "path" },
    input: z.lazy(() =>
      z.object({
        path: z.string().describe("What to delete"),
        recursive: z.boolean().default(false).describe("A directory with all that is in it"),
      })
    ),
    output: z.lazy(() =>
      z.object({
        path: z.string().describe("The path that was deleted"),
        deleted_entries: z.int().describe("How many files, links and directories were deleted"),
        undo_until: z.string().optional().describe("Until when it can be undone, unless room is short before"),
      })
    ),
    preview: (input: { readonly path: string; readonly recursive: boolean }, context) =>
      previewDelete(source, input, context),
    async run({ path: text, recursive }, context) {
      if (text === "") return toPathFailure("path", "empty");
      const parsed = parseDirectoryPath(text);
      const changing = beginChange(source, context, "file_delete");
      const { workspace } = changing;
      if (!parsed.ok) return await suggestRelative(workspace, "path", parsed.error, text);
      const path = await inStoredForm(workspace, parsed.value);
      const declined = recursive ? await askFirst(workspace, path, { context, isKept, clock }) : null;
      if (declined !== null) return declined;
      const removed = await workspace.remove(path, { recursive });
      if (!removed.ok) return await suggestNear(workspace, path, toFailure("delete", path, removed.error));
      const { entries } = removed.value;
      const until = await keptUntil(changing);
      const undo = until === null ? "" : `; can be undone with file_undo until ${until.slice(0, 16)}Z`;
      const words = `Deleted ${showName(path.text)}${entries === 1 ? "" : ` (${entries} entries)`}${undo}`;
      return {
        ok: true,
        content: [{ type: "text", text: words }],
        structuredContent: {
          path: toPathText(path.text),
          deleted_entries: entries,
          ...until === null ? {} : { undo_until: until },
        },
      };
    },
  });
}

/** `null` where the deletion may go on: it is small, the client cannot ask, no person answers, or it is yes. */
async function askFirst(
  workspace: Workspace,
  path: WorkspacePath,
  { context, isKept, clock }: Required<FileDeleteOptions> & { readonly context: ToolContext },
): Promise<ToolOutcome | null> {
  if (!context.supports("elicitation") || !await isLarge(workspace, path)) return null;
  const message = `Delete the directory ${showName(path.text)}, with more than ${maxUnaskedEntries} entries in it?`;
  const askedAt = clock();
  const asked = await context.ask({
    confirm: { method: "elicitation/create", params: { message, requestedSchema: { type: "object", properties: {} } } },
  });
  if (!asked.ok || asked.value.confirm.action === "accept") return null;
  // what is in the trash is not lost because an agent has no person to ask
  if (isKept && clock() - askedAt < leastReadingMs) return null;
  return { ok: false, code: "declined", message: `The user did not agree to delete ${showName(path.text)}` };
}

async function isLarge(workspace: Workspace, path: WorkspacePath): Promise<boolean> {
  let entries = 0;
  for await (const entry of walk(workspace, path, { depth: maxWalkDepth })) {
    if (!entry.ok) return false; // the deletion says why
    if (++entries > maxUnaskedEntries) return true;
  }
  return false;
}

/** `null` where nothing is kept of it. */
async function keptUntil({ workspace: { trash }, change: id }: Changing): Promise<string | null> {
  try {
    const change = trash === null || id === null ? null : await trash.find(id);
    const isKept = change?.steps.some(({ step }) =>
      step.op === "remove" && (step.kept !== null || step.empty === true)
    );
    return trash === null || !change || !isKept ? null : toTimestamp(change.at + trash.keepMs);
  } catch (error) {
    if (machineFaultWords(error) === null) throw error;
    return null; // it is deleted all the same
  }
}
