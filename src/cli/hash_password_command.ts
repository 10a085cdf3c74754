/** `hash-password`: turns a passphrase into the value of OWNER_PASSWORD_HASH. */
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";
import { passphraseMissing, readPassphrase } from "./read_passphrase.ts";

/** Standard output is the hash alone. */
export const hashPasswordCommand: CommandWork = {
  usage: ["hash-password [--scrypt]", "hash-password [--scrypt] < FILE"],
  remarks: ["Asks for the passphrase on a terminal, else reads the first line of its input."],
  takesNoWords: true,
  switches: { scrypt: "for a server whose runtime has no Argon2id (Deno before 2.9)" },
  run: printHash,
};

async function printHash({ flags, print, say }: CommandContext): Promise<ExitStatus> {
  const passphrase = await readPassphrase(say);
  if (!passphrase.ok) return endWith(say, passphraseMissing(passphrase.error));
  const { hashPassword, passphraseProblem } = await import("../oauth/mod.ts"); // see action.ts
  const problem = passphraseProblem(passphrase.value);
  if (problem !== null) return endWith(say, `error: ${problem}\n`);
  print(`${await hashPassword(passphrase.value, flags["scrypt"] === undefined ? undefined : "scrypt")}\n`);
  return 0;
}
