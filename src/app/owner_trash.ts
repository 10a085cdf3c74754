/** The owner's access to the trash from the command line, with or without a running server. */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { ownerId } from "../oauth/mod.ts";
import type { Config } from "./config/config.ts";
import { parseDirectoryPath, pathOf, refusalWords, toPathText, userDirectoryName } from "../files/mod.ts";
import type { Change, KeptItem, Trash, Workspace } from "../files/mod.ts";
import { loadKernel } from "../lib/kernel/kernel.ts";
import { failure, type Problem, type Result, success, UnusableError } from "../lib/result.ts";
import type { Clock } from "../lib/time.ts";
import type { Storage } from "../storage/mod.ts";
import { keepsChanges, workspaceOpener } from "./workspaces.ts";

/** The trash for `portcullis trash`: every user's changes, not one client's. */
export type OwnerTrash = Awaited<ReturnType<typeof openOwnerTrash>>;

const author = { subject: ownerId, clientId: "portcullis-trash", grantId: "", tool: "trash restore" };

/**
 * Opens the trash of all, of which `user` names one, or with a workspace for each user that of `user`. Throws
 * {@link UnusableError} where there is none.
 */
export async function openOwnerTrash(
  { workspace: settings }: Pick<Config, "workspace">,
  { storage, clock, user }: { readonly storage: Storage; readonly clock: Clock; readonly user: string | undefined },
) {
  if (!keepsChanges(settings)) throw new UnusableError("nothing is kept", "set TRASH_KEEP");
  const isShared = settings.sharing === "shared";
  if (!isShared && user === undefined) {
    throw new UnusableError("each user has a workspace here", "name one with --user");
  }
  const directory = isShared || user === undefined ? null : userDirectoryName(user);
  const [only] = settings.directories;
  const root = join(only?.path ?? "", directory ?? "");
  if (settings.store === "disk" && only?.name === "" && !lstatSync(root, { throwIfNoEntry: false })?.isDirectory()) {
    const remedy = isShared
      ? "the first start makes it; is it the right --workspace (WORKSPACE_DIR)?"
      : "see `portcullis users list`";
    throw new UnusableError(`there is no workspace at ${root}`, remedy);
  }
  const open = await workspaceOpener(settings, { storage, clock, kernel: loadKernel() });
  const workspace = open(directory);
  const { trash } = workspace;
  if (trash === null) {
    throw new UnusableError("no directory of the workspace keeps changes", "see `portcullis workspace list`");
  }
  return {
    /** The newest first. */
    async *list() {
      for await (const change of trash.changes()) {
        if (isShared && user !== undefined && change.by?.subject !== user) continue;
        for await (const item of keptBy(trash, change)) yield toEntry(trash, change, item);
      }
    },
    /** Restores it to its old path or to another one, never over something. Returns the path. */
    restore: (id: string, path?: string) => restore(workspace, trash, id, path),
    close: () => workspace.close(),
  };
}

async function restore(
  workspace: Workspace,
  trash: Trash,
  id: string,
  path: string | undefined,
): Promise<Result<string, Problem>> {
  const [changeId = "", digits] = id.split(".");
  const change = await trash.find(changeId);
  const kept = change === null ? [] : await Array.fromAsync(keptBy(trash, change));
  const chosen = digits === undefined ? kept : kept.filter(({ number }) => `${number}` === digits);
  const [item] = chosen;
  if (change === null || item === undefined) {
    return problem("nothing of this id is kept", "see `portcullis trash list`");
  }
  if (chosen.length > 1) {
    return problem(
      "the change has several files",
      `name one: ${chosen.map(({ number }) => `${changeId}.${number}`).join(", ")}`,
    );
  }
  const own = stepOf(change, item)?.path ?? "";
  const target = path === undefined ? success(pathOf(own)) : parseDirectoryPath(path);
  if (!target.ok || target.value.text === "") {
    return problem("this path cannot be restored to", "name another with --as");
  }
  const { trash: changing } = workspace.begin(author);
  const restored = await changing?.restore(item, target.value);
  if (restored?.ok) return success(target.value.text);
  const words = restored === undefined ? "nothing is kept" : refusalWords(restored.error);
  return problem(`${toPathText(target.value.text)}: ${words}`, "name another path with --as");
}

async function* keptBy(trash: Trash, { id, steps }: Change): AsyncGenerator<KeptItem> {
  for (const { number, step } of steps) {
    const item = { change: id, number };
    if ("kept" in step && step.kept !== null && await trash.holds(item)) yield item;
  }
}

function stepOf({ steps }: Change, { number }: KeptItem) {
  return steps.find((each) => each.number === number)?.step;
}

/** A file, directory or link that a change replaced or deleted. */
function toEntry({ keepMs }: Trash, change: Change, item: KeptItem) {
  const step = stepOf(change, item);
  const kept = step !== undefined && "kept" in step ? step.kept : null;
  return {
    id: `${item.change}.${item.number}`,
    path: toPathText(step?.path ?? ""),
    kind: kept?.kind ?? "file",
    bytes: kept?.sizeBytes ?? 0,
    entries: kept?.entries ?? 1,
    /** When it was replaced or deleted, and until when it is kept: ISO 8601, UTC. */
    time: new Date(change.at).toISOString(),
    until: new Date(change.at + keepMs).toISOString(),
    user: change.by?.subject ?? null,
    client: change.by?.clientId ?? null,
    tool: change.by?.tool ?? null,
  };
}

function problem(what: string, remedy: string): Result<never, Problem> {
  return failure({ problem: what, remedy });
}
