/** Copies a directory with all that is in it. Links and special files are left out, and said. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import { showName } from "../../workspace/file_display.ts";
import { childPath, type WorkspacePath } from "../../workspace/path.ts";
import type { Workspace } from "../../workspace/port.ts";
import { maxWalkDepth, walk } from "../../workspace/walk.ts";
import { toFailure, toPairFailure } from "./refusal.ts";

/** Copies `from` to `to`, where nothing may be yet. A copy that cannot be finished says how far it went, and stays. */
export async function copyDirectory(
  workspace: Workspace,
  { from, to }: { readonly from: WorkspacePath; readonly to: WorkspacePath },
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const isInside = from.segments.every((name, index) => to.segments[index] === name);
  if (isInside) return toPairFailure("copy", { from, to }, { reason: "into_itself", about: "both" });
  const there = await workspace.stat(to);
  if (there.ok) return toPairFailure("copy", { from, to }, { reason: "already_exists", about: "to" });
  const made = await workspace.makeDirectory(to);
  if (!made.ok) return toFailure("create directory", to, made.error);
  let [files, sizeBytes, leftOut, visited] = [0, 0, 0, 0];
  const soFar = (words: string): ToolOutcome => ({
    ok: false,
    code: "copy_incomplete",
    message: `Failed to copy: ${words} (${files} files were copied to ${showName(to.text)} and are there now)`,
  });
  for await (const step of walk(workspace, from, { depth: maxWalkDepth })) {
    if (!step.ok) return toFailure("copy", from, step.error);
    const { kind, segments } = step.value;
    const target = childPath(to, segments);
    if (++visited > workspace.limits.maxTreeEntries) return soFar(`it has more than ${visited - 1} entries`);
    if (signal.aborted) return soFar("it was cancelled");
    if (kind === "directory") {
      const child = await workspace.makeDirectory(target);
      if (!child.ok) return soFar(failureWords(toFailure("create directory", target, child.error)));
    } else if (kind === "file") {
      const source = childPath(from, segments);
      const copied = await workspace.copy(source, target);
      if (!copied.ok) return soFar(failureWords(toPairFailure("copy", { from: source, to: target }, copied.error)));
      files++;
      sizeBytes += copied.value.sizeBytes;
    } else leftOut++;
  }
  const without = leftOut === 0 ? "" : `; ${leftOut} links or special files were left out`;
  const text = `Copied ${showName(from.text)}/ to ${showName(to.text)}/ (${files} files, ${sizeBytes} bytes${without})`;
  return {
    ok: true,
    content: [{ type: "text", text }],
    structuredContent: { path: from.text, destination: to.text, files, size_bytes: sizeBytes },
  };
}

function failureWords(outcome: ToolOutcome): string {
  return outcome.ok ? "" : outcome.message;
}
