/** `trash list|restore`: what agents replaced or deleted in the workspace. */
import type { OwnerTrash } from "../app/mod.ts";
import { loadOwnerTrash } from "../app/later.ts";
import { problemText } from "../lib/result.ts";
import { escapeUnprintable } from "../lib/log.ts";
import { type Action, administered, commandOf, printTable } from "./action.ts";
import type { CommandContext, CommandWork, ExitStatus } from "./command.ts";

/** Works beside a running server. */
export const trashCommand: CommandWork = commandOf({
  usage: ["trash list [--user USER] [--json]", "trash restore ID [--as PATH] [--user USER]"],
  remarks: [
    "ID is from the list. What is restored takes its own path, or PATH; what is there already is never replaced.",
    "Where each user has a workspace (WORKSPACES=per-user), --user says whose.",
  ],
  flags: {
    user: { value: "USER", help: "the user who made the change" },
    as: { value: "PATH", help: "another path in the workspace" },
  },
  switches: { json: "print JSON, one line each" },
  actions: { list: withTrash(list, ["user", "json"]), restore: withTrash(restore, ["user", "as"]) },
});

type Work = (trash: OwnerTrash, context: CommandContext) => Promise<ExitStatus>;

function withTrash(work: Work, flags: readonly string[]): Action {
  return administered(loadOwnerTrash, async ({ openOwnerTrash }, { config, storage, clock }, context) => {
    const opened = await openOwnerTrash(config, { storage, clock, user: context.flags["user"] });
    try {
      return await work(opened, context);
    } finally {
      await opened.close();
    }
  }, flags);
}

async function list(trash: OwnerTrash, context: CommandContext): Promise<ExitStatus> {
  const kept = await Array.fromAsync(trash.list());
  if (context.flags["json"] !== undefined) {
    await context.print(kept.map((each) => `${JSON.stringify(each)}\n`).join(""));
    return 0;
  }
  return await printTable({
    columns: ["ID", "TIME", "USER", "TOOL", "BYTES", "PATH"],
    rows: kept.map(({ id, time, user, tool, bytes, path, kind }) => [
      id,
      `${time.slice(0, 19)}Z`,
      escapeUnprintable(user ?? "-"),
      tool ?? "-",
      String(bytes),
      `${escapeUnprintable(path)}${kind === "directory" ? "/" : ""}`,
    ]),
    whenEmpty: "nothing is kept",
  }, context);
}

async function restore(trash: OwnerTrash, { flags, say, words: [id = ""] }: CommandContext) {
  const restored = await trash.restore(id, flags["as"]);
  say(restored.ok ? `restored ${escapeUnprintable(restored.value)}\n` : problemText(restored.error));
  return restored.ok ? 0 : 1;
}
