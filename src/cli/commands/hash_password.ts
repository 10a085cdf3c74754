/** `hash-password`: a passphrase in, the value for OWNER_PASSWORD_HASH out. */
import type { Command, CommandContext, ExitStatus } from "../command.ts";
import { passphraseMissing, readPassphrase } from "../read_passphrase.ts";

/** Prints nothing but the hash on standard output. */
export const hashPasswordCommand: Command = {
  name: "hash-password",
  summary: "print a passphrase's hash for OWNER_PASSWORD_HASH",
  usage: ["hash-password [--scrypt]", "hash-password [--scrypt] < FILE"],
  remarks: ["Asks for the passphrase on a terminal, else reads the first line of its input."],
  takesNoWords: true,
  flags: {},
  switches: { scrypt: "for a server whose runtime has no Argon2id (Deno before 2.9)" },
  run: printHash,
};

async function printHash({ flags, print, say }: CommandContext): Promise<ExitStatus> {
  const passphrase = await readPassphrase(say);
  if (!passphrase.ok) {
    say(passphraseMissing(passphrase.error));
    return 1;
  }
  const { hashPassphrase } = await import("../../composition/administration.ts"); // see action.ts
  const hash = await hashPassphrase(passphrase.value, flags["scrypt"] === undefined ? undefined : "scrypt");
  if (!hash.ok) {
    say(`error: ${hash.error}\n`);
    return 1;
  }
  print(`${hash.value}\n`);
  return 0;
}
