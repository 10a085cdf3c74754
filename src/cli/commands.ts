/** Every command, in the order of the help. Help, completions and docs/commands.md are made from this list. */
import type { Command } from "./command.ts";
import { backupCommand } from "./commands/backup.ts";
import { clientsCommand } from "./commands/clients.ts";
import { createCompletionsCommand } from "./commands/completions.ts";
import { configCommand } from "./commands/config.ts";
import { connectCommand } from "./commands/connect.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { hardenCommand } from "./commands/harden.ts";
import { hashPasswordCommand } from "./commands/hash_password.ts";
import { healthcheckCommand } from "./commands/healthcheck.ts";
import { keysCommand } from "./commands/keys.ts";
import { restoreCommand } from "./commands/restore.ts";
import { serveCommand } from "./commands/serve.ts";
import { stdioCommand } from "./commands/stdio.ts";
import { tokenCommand } from "./commands/token.ts";
import { usersCommand } from "./commands/users.ts";

/** All of them, wherever they can run. */
export const allCommands: readonly Command[] = [
  serveCommand,
  hardenCommand,
  stdioCommand,
  connectCommand,
  tokenCommand,
  usersCommand,
  clientsCommand,
  keysCommand,
  doctorCommand,
  configCommand,
  hashPasswordCommand,
  backupCommand,
  restoreCommand,
  healthcheckCommand,
  createCompletionsCommand(() => commands),
];

/** Those that can run here. */
export const commands: readonly Command[] = allCommands.filter(({ isAvailable = () => true }) => isAvailable());
