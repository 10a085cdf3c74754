/** Copies a directory with all that is in it. Links, special files and names that cannot be made are left out, and said. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import { showName, toPathText } from "../workspace/file_display.ts";
import { childPath, type WorkspacePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";
import { maxWalkDepth, walk } from "../workspace/walk.ts";
import { depthThere, removeMade } from "./batch.ts";
import { count } from "./input.ts";
import { toFailure, toPairFailure } from "./refusal.ts";

/** Copies `from` to `to`, where nothing may be yet. Of a copy that cannot be finished nothing stays. */
export async function copyDirectory(
  workspace: Workspace,
  { from, to }: { readonly from: WorkspacePath; readonly to: WorkspacePath },
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const isInside = from.segments.every((name, index) => to.segments[index] === name);
  if (isInside) return toPairFailure("copy", { from, to }, { reason: "into_itself", about: "both" });
  const there = await workspace.stat(to);
  if (there.ok) return toPairFailure("copy", { from, to }, { reason: "already_exists", about: "to" });
  const depth = await depthThere(workspace, to);
  const made = await workspace.makeDirectory(to);
  if (!made.ok) return toFailure("create directory", to, made.error);
  let [files, sizeBytes, leftOut, visited] = [0, 0, 0, 0];
  let [unnamed, firstUnnamed] = [0, ""];
  const leaveOut = (words: string): void => {
    if (unnamed++ === 0) firstUnnamed = words.replace(/^[^:]*: /, "");
  };
  /** Files that another program put there meanwhile would go, too: they are in the trash, where one is kept. */
  const soFar = async (words: string): Promise<ToolOutcome> => {
    const isGone = (await workspace.remove(to, { recursive: true })).ok;
    if (isGone) await removeMade(workspace, to, depth);
    const state = isGone
      ? "nothing was copied"
      : `${count(files, "file")} copied so far, to ${showName(to.text)}, could not be removed`;
    return { ok: false, code: "copy_incomplete", message: `Failed to copy: ${words}; ${state}` };
  };
  /** A directory that was left out, with what is in it. */
  let within: readonly string[] | null = null;
  for await (const step of walk(workspace, from, { depth: maxWalkDepth })) {
    if (!step.ok) return await soFar(failureWords(toFailure("copy", from, step.error)));
    const { kind, path: source, segments } = step.value;
    const target = childPath(to, segments);
    if (within !== null && within.every((name, index) => name === segments[index])) continue;
    if (++visited > workspace.limits.maxTreeEntries) return await soFar(`it has more than ${visited - 1} entries`);
    if (signal.aborted) return await soFar("it was cancelled");
    if (kind === "directory") {
      const child = await workspace.makeDirectory(target);
      if (!child.ok) {
        const words = failureWords(toFailure("create directory", target, child.error));
        if (child.error.reason !== "bad_name") return await soFar(words);
        leaveOut(words);
        within = segments;
      }
    } else if (kind === "file") {
      const copied = await workspace.copy(source, target);
      if (!copied.ok) {
        const words = failureWords(toPairFailure("copy", { from: source, to: target }, copied.error));
        if (copied.error.reason !== "bad_name") return await soFar(words);
        leaveOut(words);
        continue;
      }
      files++;
      sizeBytes += copied.value.sizeBytes;
    } else leftOut++;
  }
  const without = [
    leftOut === 0 ? "" : `; ${leftOut} ${leftOut === 1 ? "link or special file" : "links or special files"} left out`,
    unnamed === 0 ? "" : `; ${unnamed} ${unnamed === 1 ? "entry" : "entries"} left out: ${firstUnnamed}`,
  ].join("");
  const text = `Copied ${showName(from.text)}/ to ${showName(to.text)}/ (${files} files, ${sizeBytes} bytes${without})`;
  return {
    ok: true,
    content: [{ type: "text", text }],
    structuredContent: { path: toPathText(from.text), destination: toPathText(to.text), files, size_bytes: sizeBytes },
  };
}

function failureWords(outcome: ToolOutcome): string {
  return outcome.ok ? "" : outcome.message.replace(/^Failed to copy: /, "");
}
