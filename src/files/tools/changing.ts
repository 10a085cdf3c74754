/** The workspace for a call that changes it: all that the call does is one change. */
import type { ToolContext } from "../../mcp/tool.ts";
import { undoChange } from "../text/undo.ts";
import { type Workspace, workspaceOf, type WorkspaceSource } from "../workspace/port.ts";

/** A workspace, and the change that is made through it. */
export interface Changing {
  readonly workspace: Workspace;
  /** `null` until something was changed, and where changes are not kept. */
  readonly change: string | null;
}

/** The call's workspace. Its audit line names the change. */
export function beginChange(
  source: WorkspaceSource,
  context: Pick<ToolContext, "principal" | "noteChange">,
  tool: string,
): Changing {
  const { subject, clientId, grantId } = context.principal;
  let change: string | null = null;
  const workspace = workspaceOf(source, context.principal).begin({ subject, clientId, grantId, tool }, (id) => {
    change = id;
    context.noteChange(id);
  });
  return {
    workspace,
    get change() {
      return change;
    },
  };
}

/** Undoes what a call has changed so far; `false` where that cannot be, or not to its end. */
export async function takeBack(
  source: WorkspaceSource,
  { principal }: Pick<ToolContext, "principal">,
  { change: id, workspace: { trash: kept } }: Changing,
): Promise<boolean> {
  const change = id === null ? null : await kept?.find(id);
  const undoing = beginChange(source, { principal, noteChange: () => {} }, "file_undo");
  const { workspace: { trash } } = undoing;
  if (id === null || !change || trash === null || !(await undoChange({ ...undoing.workspace, trash }, change)).ok) {
    return false;
  }
  await trash.noteUndone(id, undoing.change ?? "");
  return true;
}
