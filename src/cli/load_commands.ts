/** What each command does. Apart from their list, since Deno reads what a module may import before it runs it. */
import type { Command, CommandWork } from "./command.ts";
import { type CommandName, commands } from "./commands.ts";

const work: Readonly<Record<CommandName, () => Promise<CommandWork>>> = {
  serve: async () => (await import("./commands/serve.ts")).serveCommand,
  harden: async () => (await import("./commands/harden.ts")).hardenCommand,
  stdio: async () => (await import("./commands/stdio.ts")).stdioCommand,
  connect: async () => (await import("./commands/connect.ts")).connectCommand,
  token: async () => (await import("./commands/token.ts")).tokenCommand,
  users: async () => (await import("./commands/users.ts")).usersCommand,
  clients: async () => (await import("./commands/clients.ts")).clientsCommand,
  keys: async () => (await import("./commands/keys.ts")).keysCommand,
  audit: async () => (await import("./commands/audit.ts")).auditCommand,
  trash: async () => (await import("./commands/trash.ts")).trashCommand,
  connections: async () => (await import("./commands/connections.ts")).connectionsCommand,
  doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
  config: async () => (await import("./commands/config.ts")).configCommand,
  "hash-password": async () => (await import("./commands/hash_password.ts")).hashPasswordCommand,
  backup: async () => (await import("./commands/backup.ts")).backupCommand,
  restore: async () => (await import("./commands/restore.ts")).restoreCommand,
  healthcheck: async () => (await import("./commands/healthcheck.ts")).healthcheckCommand,
  completions: async () => (await import("./commands/completions.ts")).createCompletionsCommand(() => loadCommands()),
};

/** The commands, with what they do. */
export async function loadCommands(listed: typeof commands = commands): Promise<readonly Command[]> {
  return await Promise.all(listed.map(async (each) => ({ ...each, ...await work[each.name]() })));
}
