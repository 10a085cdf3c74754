/** Why a change is not undone, in words for the model. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import type { Change } from "../workspace/change.ts";
import { showName } from "../workspace/file_display.ts";
import type { UndoFailure, UndoProblem } from "../text/undo.ts";
import { toFailure } from "./refusal.ts";

/** The failure; `later`: a change of the same caller that is in the way. */
export function toUndoFailure({ id }: Change, { problem, undone }: UndoFailure, later: string | null): ToolOutcome {
  const { code, words } = wordsOf(problem, later);
  const rest = undone.length === 0 ? "; nothing was changed" : `; undone so far: ${undone.map(showName).join(", ")}`;
  return { ok: false, code, message: `Failed to undo ${id}: ${words}${rest}` };
}

function wordsOf(problem: UndoProblem, later: string | null): { readonly code: string; readonly words: string } {
  const first = later === null ? "" : ` (undo ${later} first)`;
  switch (problem.reason) {
    case "undone":
      return { code: "undone", words: `change ${problem.by} undid it already` };
    case "changed_since":
      return { code: "changed_since", words: `${showName(problem.path)} was changed since${first}` };
    case "taken":
      return { code: "taken", words: `there is something new at ${showName(problem.path)}${first}` };
    case "not_empty":
      return { code: "not_empty", words: `${showName(problem.path)} is not empty${first}` };
    case "not_kept":
      return { code: "not_kept", words: `what was at ${showName(problem.path)} is no longer kept` };
    case "refused": {
      const { code, message } = toFailure(
        "undo",
        { text: problem.path, segments: problem.path.split("/") },
        problem.refusal,
      );
      return { code, words: message.replace("Failed to undo: ", "") };
    }
  }
}
