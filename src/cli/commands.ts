/** Every command, in the order of the help. Help, completions and docs/commands.md are made from this list. */
import type { Command, CommandWork } from "./command.ts";

/** A command in the list; its module is loaded when it is needed. */
interface ListedCommand {
  readonly name: string;
  readonly summary: string;
  /** Where it cannot run, help and completions leave it out. */
  readonly isAvailable?: () => boolean;
  readonly load: () => Promise<CommandWork>;
}

/** All of them, wherever they can run. */
export const allCommands: readonly ListedCommand[] = [
  {
    name: "serve",
    summary: "start the server (the default)",
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
  {
    name: "harden",
    summary: "start the server under Landlock (Linux)",
    isAvailable: () => Deno.build.os === "linux",
    load: async () => (await import("./commands/harden.ts")).hardenCommand,
  },
  {
    name: "stdio",
    summary: "serve one client over standard input and output",
    load: async () => (await import("./commands/stdio.ts")).stdioCommand,
  },
  {
    name: "connect",
    summary: "print how a client connects, in its own format",
    load: async () => (await import("./commands/connect.ts")).connectCommand,
  },
  {
    name: "token",
    summary: "create, list and revoke access tokens for scripts",
    load: async () => (await import("./commands/token.ts")).tokenCommand,
  },
  {
    name: "users",
    summary: "add, list and lock out the people who may sign in",
    load: async () => (await import("./commands/users.ts")).usersCommand,
  },
  {
    name: "clients",
    summary: "create OAuth clients for programs, list and remove clients",
    load: async () => (await import("./commands/clients.ts")).clientsCommand,
  },
  {
    name: "keys",
    summary: "rotate and list signing keys, rotate the master key",
    load: async () => (await import("./commands/keys.ts")).keysCommand,
  },
  {
    name: "audit",
    summary: "search the stored audit, verify that it is as it was written",
    load: async () => (await import("./commands/audit.ts")).auditCommand,
  },
  {
    name: "doctor",
    summary: "check settings, files, database, address, Ollama, ServiceNow",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand,
  },
  {
    name: "config",
    summary: "print the settings in force, and where each comes from",
    load: async () => (await import("./commands/config.ts")).configCommand,
  },
  {
    name: "hash-password",
    summary: "print a passphrase's hash for OWNER_PASSWORD_HASH",
    load: async () => (await import("./commands/hash_password.ts")).hashPasswordCommand,
  },
  {
    name: "backup",
    summary: "copy database and master key, also while the server runs",
    load: async () => (await import("./commands/backup.ts")).backupCommand,
  },
  {
    name: "restore",
    summary: "make a data directory out of a backup",
    load: async () => (await import("./commands/restore.ts")).restoreCommand,
  },
  {
    name: "healthcheck",
    summary: "exit with 0 when the server on this machine is healthy",
    load: async () => (await import("./commands/healthcheck.ts")).healthcheckCommand,
  },
  {
    name: "completions",
    summary: "print a completion script for a shell",
    load: async () => (await import("./commands/completions.ts")).createCompletionsCommand(() => loadCommands()),
  },
];

/** Those that can run here. */
export const commands: readonly ListedCommand[] = allCommands.filter(({ isAvailable = () => true }) => isAvailable());

/** The commands, with what they do. */
export async function loadCommands(listed: readonly ListedCommand[] = commands): Promise<readonly Command[]> {
  return await Promise.all(listed.map(async ({ name, summary, load }) => ({ name, summary, ...await load() })));
}
