/** What `file_edit` answers: for each file the count, the new version and the difference. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import { showName, showText, toPathText } from "../workspace/file_display.ts";
import { differenceOf } from "../text/diff.ts";
import type { PlannedFile } from "./edit_plan.ts";
import { count, pageBytes, toVersion } from "./input.ts";

/** The answer for files as they were written, or for a dry run, which wrote none. */
export async function editAnswer(
  planned: readonly PlannedFile[],
  written: readonly PlannedFile[] | null,
): Promise<ToolOutcome> {
  const blocks: string[] = [];
  const facts: Record<string, unknown>[] = [];
  let room = pageBytes;
  for (const { path, beforeText, afterText, after, afterSha256, replacements } of written ?? planned) {
    const whole = await differenceOf(beforeText, afterText);
    const diff = whole.length <= room ? whole : "(there is no room for this difference)";
    room -= diff.length;
    const size = `${after.byteLength} bytes${afterSha256 === null ? "" : `, version ${toVersion(afterSha256)}`}`;
    blocks.push(`${showName(path.text)}: ${count(replacements, "replacement")}, ${size}\n${showText(diff)}`);
    facts.push({
      path: toPathText(path.text),
      replacements,
      changed: written !== null,
      diff,
      size_bytes: after.byteLength,
      ...(afterSha256 === null ? {} : { version: toVersion(afterSha256), sha256: afterSha256 }),
    });
  }
  const [first, ...further] = facts;
  if (written === null) blocks.push("(dry run: nothing was changed)");
  return {
    ok: true,
    content: [{ type: "text", text: blocks.join("\n") }],
    structuredContent: { ...first, ...(further.length === 0 ? {} : { files: further }) },
  };
}

/** A refusal in words for the model. */
export function editRefusal(code: string, words: string): Extract<ToolOutcome, { readonly ok: false }> {
  return { ok: false, code, message: `Failed to edit file: ${words}` };
}
