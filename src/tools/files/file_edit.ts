/** The tool `file_edit`: exact replacements in one text file. */
import { z } from "zod";
import { defineTool, type Tool, type ToolOutcome } from "../../mcp/tool.ts";
import { parseFilePath, type WorkspacePath } from "../../workspace/path.ts";
import { type Workspace, workspaceOf, type WorkspaceSource } from "../../workspace/port.ts";
import { differsInLineEnds, type EditRefusal, replaceText } from "../../workspace/text/edit.ts";
import { decodeText, showName, showText } from "../../workspace/file_display.ts";
import { filenameInput, filenameOutput, ifMatchInput, sha256Output } from "./input.ts";
import { toFailure, toPathFailure } from "./refusal.ts";

const action = "edit file";
const maxAttempts = 5;
const maxDiffCharacters = 50_000;
const encoder = new TextEncoder();

const input = z.object({
  filename: filenameInput,
  old_text: z.string().describe("The text to replace, exactly as it is in the file, with blanks and line ends"),
  new_text: z.string().describe("The text to put in its place; empty to delete"),
  replace_all: z.boolean().default(false).describe("Replace every occurrence; otherwise there must be exactly one"),
  dry_run: z.boolean().default(false).describe("Only show what would change"),
  if_match: ifMatchInput,
});
type Input = z.output<typeof input>;

/** Edits text files of the workspace. */
export function fileEditTool(source: WorkspaceSource): Tool {
  return defineTool({
    name: "file_edit",
    title: "Edit a file",
    description:
      "Replaces an exact piece of text in a file of the workspace, which must be there exactly once unless " +
      "replace_all is set, and answers with a unified diff.",
    scopes: ["files:write"],
    annotations: {
      title: "Edit a file",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: false,
    },
    input,
    output: z.object({
      filename: filenameOutput,
      replacements: z.int().describe("How many replacements were made, or would be"),
      changed: z.boolean().describe("Whether the file was changed; false for a dry run"),
      diff: z.string().describe("The change as a unified diff, cut when it is long"),
      size_bytes: z.int().describe("The file's size after the change"),
      sha256: sha256Output.optional(),
    }),
    async run(request, { principal }) {
      const path = parseFilePath(request.filename);
      if (!path.ok) return toPathFailure("filename", path.error);
      if (!request.old_text.isWellFormed() || !request.new_text.isWellFormed()) {
        return refuse("content_not_unicode", "old_text and new_text must be valid Unicode (unpaired surrogate)");
      }
      return await edit(workspaceOf(source, principal), path.value, request);
    },
  });
}

async function edit(workspace: Workspace, path: WorkspacePath, request: Input): Promise<ToolOutcome> {
  for (let attempt = 1;; attempt++) {
    const read = await workspace.read(path);
    if (!read.ok) return toFailure(action, path, read.error);
    const { bytes, sha256 } = read.value;
    if (sha256 === null || (request.if_match !== undefined && request.if_match.toLowerCase() !== sha256)) {
      return toFailure(action, path, { reason: "conflict" });
    }
    const text = decodeText(bytes);
    if (text === null) return refuse("not_text", `its content is not text in UTF-8 (${showName(path.text)})`);
    const replacement = { oldText: request.old_text, newText: request.new_text, all: request.replace_all };
    const edited = replaceText(text, replacement, {
      name: showName(path.text),
      maxBytes: workspace.limits.maxWriteBytes,
      maxDiffCharacters,
    });
    if (!edited.ok) return toEditFailure(edited.error, text, request.old_text);
    const { count, diff } = edited.value;
    const content = encoder.encode(edited.value.text);
    const facts = { filename: path.text, replacements: count, diff };
    const shown = showText(diff);
    if (request.dry_run) {
      return {
        ok: true,
        content: [{ type: "text", text: `${shown}(dry run: nothing was changed)` }],
        structuredContent: { ...facts, changed: false, size_bytes: content.byteLength },
      };
    }
    const written = await workspace.write(path, content, { ifMatch: sha256 });
    if (written.ok) {
      return {
        ok: true,
        content: [{ type: "text", text: shown }],
        structuredContent: {
          ...facts,
          changed: true,
          size_bytes: written.value.sizeBytes,
          sha256: written.value.sha256,
        },
      };
    }
    // someone else wrote in between: the replacement is tried on the new text, unless the caller named the old one
    const mayRetry = written.error.reason === "conflict" && request.if_match === undefined && attempt < maxAttempts;
    if (!mayRetry) return toFailure(action, path, written.error);
  }
}

function toEditFailure(refusal: EditRefusal, text: string, oldText: string): ToolOutcome {
  switch (refusal.reason) {
    case "empty_old_text":
      return refuse("empty_old_text", "old_text is empty");
    case "same_text":
      return refuse("same_text", "old_text and new_text are the same");
    case "not_unique":
      return refuse(
        "not_unique",
        `old_text is there ${refusal.count} times; add text around it, or set replace_all to replace all of them`,
      );
    case "too_large":
      return refuse(
        "too_large",
        `the file would have ${refusal.sizeBytes} bytes and the limit is ${refusal.limitBytes}; replace less at a time`,
      );
    case "not_there":
      return refuse(
        "not_there",
        differsInLineEnds(text, oldText)
          ? "old_text is there only with other line ends (CRLF against LF)"
          : "old_text is not in the file; it must match exactly, with blanks and line ends",
      );
  }
}

function refuse(code: string, words: string): ToolOutcome {
  return { ok: false, code, message: `Failed to ${action}: ${words}` };
}
