/** `hash-password`: a passphrase in, the value for OWNER_PASSWORD_HASH out. */
import { hashPassphrase } from "../administration.ts";
import type { Command, CommandContext, ExitStatus } from "./command.ts";

/** Asks twice on a terminal, without echo; reads one line from a pipe. */
export const hashPasswordCommand: Command = {
  name: "hash-password",
  summary: "prints a passphrase's hash for OWNER_PASSWORD_HASH",
  usage: ["hash-password          asks for it", "hash-password < FILE   reads its first line"],
  flags: {},
  run: hashPasswordFromInput,
};

async function hashPasswordFromInput({ print, say }: CommandContext): Promise<ExitStatus> {
  const passphrase = Deno.stdin.isTerminal() ? await askTwice(say) : firstLine(await readAll());
  if (passphrase === null) {
    say("error: the two entries differ\nhint: nothing was changed; try again\n");
    return 1;
  }
  const hash = await hashPassphrase(passphrase);
  if (!hash.ok) {
    say(`error: ${hash.error}\n`);
    return 1;
  }
  print(`${hash.value}\n`);
  return 0;
}

async function askTwice(say: (text: string) => void): Promise<string | null> {
  const first = await askHidden("Passphrase: ", say);
  return await askHidden("Once more: ", say) === first ? first : null;
}

const enter = ["\r", "\n"];
const erase = ["\b", "\x7f"];

async function askHidden(question: string, say: (text: string) => void): Promise<string> {
  say(question);
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(1_024);
  let entered = "";
  Deno.stdin.setRaw(true, { cbreak: true }); // cbreak keeps Ctrl-C working
  try {
    for (;;) {
      const count = await Deno.stdin.read(buffer);
      if (count === null) return entered;
      for (const character of decoder.decode(buffer.subarray(0, count), { stream: true })) {
        if (enter.includes(character)) return entered;
        entered = erase.includes(character) ? Array.from(entered).slice(0, -1).join("") : entered + character;
      }
    }
  } finally {
    Deno.stdin.setRaw(false);
    say("\n");
  }
}

async function readAll(): Promise<string> {
  return await new Response(Deno.stdin.readable).text();
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? "";
}
