/** Changes of files for the console: what one did, as a difference while the trash keeps it, and undoing it. */
import type { Principal } from "../lib/principal.ts";
import type { Log } from "../lib/log.ts";
import { failure, success } from "../lib/result.ts";
import type { Changes } from "../console/mod.ts";
import {
  type Change,
  decodeText,
  differenceOf,
  type NumberedStep,
  pathOf,
  showExactly,
  showName,
  toUndoFailure,
  type Trash,
  undoChange,
  type Workspace,
  workspaceOf,
  type WorkspaceSource,
} from "../files/mod.ts";

const maxShownSteps = 20;
/** Of each text that a difference is made of. */
const maxTextBytes = 1_048_576;
/** Who the trash says undid a change from the console. */
const consoleClientId = "portcullis-console";

export function createConsoleChanges(
  source: WorkspaceSource,
  { log, isUser }: { readonly log: Log; isUser(id: string): Promise<boolean> },
): Changes {
  const find = async (id: string, person: string) => {
    // each name that is asked for would be opened, and get a directory
    if (!await isUser(person)) return null;
    const workspace = workspaceOf(source, personOf(person));
    const { trash } = workspace;
    const change = await trash?.find(id) ?? null;
    return trash === null || change === null || change.by?.subject !== person ? null : { workspace, trash, change };
  };
  return {
    async show(id, person) {
      const found = await find(id, person);
      if (found === null) return null;
      const { change, workspace, trash } = found;
      const blocks: string[] = [];
      for (const step of change.steps.slice(0, maxShownSteps)) {
        blocks.push(await stepText(workspace, trash, change, step));
      }
      const rest = change.steps.length - maxShownSteps;
      return {
        tool: change.by?.tool ?? "",
        at: change.at,
        text: blocks.join("\n") + (rest > 0 ? `\n... and ${rest} more steps` : ""),
        isUndone: change.undoneBy !== null,
      };
    },
    async undo(id, person, by) {
      const found = await find(id, person);
      if (found === null) return failure("This change is no longer kept.");
      const { change, trash } = found;
      let made: string | null = null;
      const author = { subject: by.userId, clientId: consoleClientId, grantId: consoleClientId, tool: "console" };
      const workspace = found.workspace.begin(author, (own) => {
        made = own;
      });
      if (workspace.trash === null) return failure("This server does not keep changes.");
      const undone = await undoChange({ ...workspace, trash: workspace.trash }, change);
      if (!undone.ok) {
        const outcome = toUndoFailure(change, undone.error, null);
        return failure(outcome.ok ? "" : outcome.message);
      }
      await trash.noteUndone(change.id, made ?? "");
      const what = undone.value.map(showName).join(", ");
      log.write("audit", "change_undone", { user: by.userId, address: by.address, outcome: "ok", what });
      return success(`Undid ${change.by?.tool} of ${what}.`);
    },
  };
}

/** Whose workspace is meant; nothing is called in this name. */
function personOf(subject: string): Principal {
  return {
    subject,
    clientId: consoleClientId,
    grantId: consoleClientId,
    tokenId: consoleClientId,
    keyId: null,
    scopes: new Set(),
    expiresAt: 0,
  };
}

async function stepText(
  workspace: Workspace,
  trash: Trash,
  change: Change,
  { number, step }: NumberedStep,
): Promise<string> {
  const name = showName(step.path);
  switch (step.op) {
    case "make":
      return `made the directory ${name}`;
    case "remove":
      return `deleted ${name}${
        step.kept === null ? "" : ` (${step.kept.entries} entries, ${step.kept.sizeBytes} bytes)`
      }`;
    case "move":
      return `moved ${showName(step.from)} to ${name}`;
    case "put":
      break;
  }
  if (step.passages !== undefined) {
    const parts = await Promise.all(step.passages.map(({ before, after }) => differenceOf(before, after)));
    return `changed ${name}:\n${showExactly(parts.join("\n"))}`;
  }
  if (step.kind !== "file") return `put ${name}`;
  const now = await workspace.read(pathOf(step.path));
  const after = now.ok ? await textOf(now.value.bytes) : null;
  const kept = step.kept === null
    ? null
    : await trash.read({ change: change.id, number }, { offsetBytes: 0, lengthBytes: maxTextBytes });
  const before = step.created ? "" : kept?.ok ? await textOf(kept.value) : null;
  const verb = step.created ? "created" : "replaced";
  if (before === null || after === null) return `${verb} ${name}`;
  return `${verb} ${name}, against what is there now:\n${showExactly(await differenceOf(before, after))}`;
}

async function textOf(bytes: Uint8Array): Promise<string | null> {
  return bytes.byteLength > maxTextBytes ? null : (await decodeText(bytes))?.text ?? null;
}
