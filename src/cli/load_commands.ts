/** The code of each command, separate from their list, since Deno reads a module's imports before it runs it. */
import { loadProgramModule } from "../lib/program.ts";
import type { Command, CommandWork } from "./command.ts";
import type { CommandName, ListedCommand } from "./commands.ts";

const work: Readonly<Record<CommandName, () => Promise<CommandWork>>> = {
  serve: async () => (await load<typeof import("./serve_command.ts")>("serve")).serveCommand,
  stdio: async () => (await load<typeof import("./stdio_command.ts")>("stdio")).stdioCommand,
  connect: async () => (await load<typeof import("./connect_command.ts")>("connect")).connectCommand,
  token: async () => (await load<typeof import("./token_command.ts")>("token")).tokenCommand,
  users: async () => (await load<typeof import("./users_command.ts")>("users")).usersCommand,
  clients: async () => (await load<typeof import("./clients_command.ts")>("clients")).clientsCommand,
  keys: async () => (await load<typeof import("./keys_command.ts")>("keys")).keysCommand,
  audit: async () => (await load<typeof import("./audit_command.ts")>("audit")).auditCommand,
  workspace: async () => (await load<typeof import("./workspace_command.ts")>("workspace")).workspaceCommand,
  trash: async () => (await load<typeof import("./trash_command.ts")>("trash")).trashCommand,
  connections: async () => (await load<typeof import("./connections_command.ts")>("connections")).connectionsCommand,
  notify: async () => (await load<typeof import("./notify_command.ts")>("notify")).notifyCommand,
  doctor: async () => (await load<typeof import("./doctor_command.ts")>("doctor")).doctorCommand,
  config: async () => (await load<typeof import("./config_command.ts")>("config")).configCommand,
  "hash-password": async () =>
    (await load<typeof import("./hash_password_command.ts")>("hash_password")).hashPasswordCommand,
  backup: async () => (await load<typeof import("./backup_command.ts")>("backup")).backupCommand,
  restore: async () => (await load<typeof import("./backup_command.ts")>("backup")).restoreCommand,
  healthcheck: async () => (await load<typeof import("./healthcheck_command.ts")>("healthcheck")).healthcheckCommand,
};

const load = <Module>(file: string): Promise<Module> => loadProgramModule(`src/cli/${file}_command.ts`);

/** A command of the list, with what it does. */
export async function loadCommand(listed: ListedCommand): Promise<Command> {
  return { ...listed, ...await work[listed.name]() };
}
