/** What each command does. Apart from their list, since Deno reads what a module may import before it runs it. */
import { loadProgramModule } from "../lib/program/program_module.ts";
import type { Command, CommandWork } from "./command.ts";
import { type CommandName, commands } from "./commands.ts";

const work: Readonly<Record<CommandName, () => Promise<CommandWork>>> = {
  serve: async () => (await load<typeof import("./commands/serve.ts")>("serve")).serveCommand,
  harden: async () => (await load<typeof import("./commands/harden.ts")>("harden")).hardenCommand,
  stdio: async () => (await load<typeof import("./commands/stdio.ts")>("stdio")).stdioCommand,
  connect: async () => (await load<typeof import("./commands/connect.ts")>("connect")).connectCommand,
  token: async () => (await load<typeof import("./commands/token.ts")>("token")).tokenCommand,
  users: async () => (await load<typeof import("./commands/users.ts")>("users")).usersCommand,
  clients: async () => (await load<typeof import("./commands/clients.ts")>("clients")).clientsCommand,
  keys: async () => (await load<typeof import("./commands/keys.ts")>("keys")).keysCommand,
  audit: async () => (await load<typeof import("./commands/audit.ts")>("audit")).auditCommand,
  trash: async () => (await load<typeof import("./commands/trash.ts")>("trash")).trashCommand,
  connections: async () => (await load<typeof import("./commands/connections.ts")>("connections")).connectionsCommand,
  doctor: async () => (await load<typeof import("./commands/doctor.ts")>("doctor")).doctorCommand,
  config: async () => (await load<typeof import("./commands/config.ts")>("config")).configCommand,
  "hash-password": async () =>
    (await load<typeof import("./commands/hash_password.ts")>("hash_password")).hashPasswordCommand,
  backup: async () => (await load<typeof import("./commands/backup.ts")>("backup")).backupCommand,
  restore: async () => (await load<typeof import("./commands/restore.ts")>("restore")).restoreCommand,
  healthcheck: async () => (await load<typeof import("./commands/healthcheck.ts")>("healthcheck")).healthcheckCommand,
  completions: async () =>
    (await load<typeof import("./commands/completions.ts")>("completions")).createCompletionsCommand(() =>
      loadCommands()
    ),
};

const load = <Module>(file: string): Promise<Module> => loadProgramModule(`src/cli/commands/${file}.ts`);

/** The commands, with what they do. */
export async function loadCommands(listed: typeof commands = commands): Promise<readonly Command[]> {
  return await Promise.all(listed.map(async (each) => ({ ...each, ...await work[each.name]() })));
}
