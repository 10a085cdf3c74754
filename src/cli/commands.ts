/** Every command, in the order of the help. Help, completions and docs/commands.md are made from this list. */
export type CommandName =
  | "serve"
  | "harden"
  | "stdio"
  | "connect"
  | "token"
  | "users"
  | "clients"
  | "keys"
  | "audit"
  | "trash"
  | "connections"
  | "doctor"
  | "config"
  | "hash-password"
  | "backup"
  | "restore"
  | "healthcheck"
  | "completions";

/** A command in the list; load_commands.ts has what it does. */
interface ListedCommand {
  readonly name: CommandName;
  readonly summary: string;
  /** Where it cannot run, help and completions leave it out. */
  readonly isAvailable?: () => boolean;
}

/** All of them, wherever they can run. */
export const allCommands: readonly ListedCommand[] = [
  {
    name: "serve",
    summary: "start the server (the default)",
  },
  {
    name: "harden",
    summary: "start the server under Landlock (Linux)",
    isAvailable: () => Deno.build.os === "linux",
  },
  {
    name: "stdio",
    summary: "serve one client over standard input and output",
  },
  {
    name: "connect",
    summary: "print how a client connects, in its own format",
  },
  {
    name: "token",
    summary: "create, list and revoke access tokens for scripts",
  },
  {
    name: "users",
    summary: "add, list and lock out the people who may sign in",
  },
  {
    name: "clients",
    summary: "create OAuth clients for programs, list and remove clients",
  },
  {
    name: "keys",
    summary: "rotate and list signing keys, rotate the master key",
  },
  {
    name: "trash",
    summary: "list and restore what agents replaced or deleted",
  },
  {
    name: "audit",
    summary: "search the stored audit, verify that it is as it was written",
  },
  {
    name: "connections",
    summary: "say why a client does not connect, or the server not start",
  },
  {
    name: "doctor",
    summary: "check settings, files, database, address, Ollama, ServiceNow",
  },
  {
    name: "config",
    summary: "print the settings in force, and where each comes from",
  },
  {
    name: "hash-password",
    summary: "print a passphrase's hash for OWNER_PASSWORD_HASH",
  },
  {
    name: "backup",
    summary: "copy database and master key, also while the server runs",
  },
  {
    name: "restore",
    summary: "make a data directory out of a backup",
  },
  {
    name: "healthcheck",
    summary: "exit with 0 when the server on this machine is healthy",
  },
  {
    name: "completions",
    summary: "print a completion script for a shell",
  },
];

/** Those that can run here. */
export const commands: readonly ListedCommand[] = allCommands.filter(({ isAvailable = () => true }) => isAvailable());
