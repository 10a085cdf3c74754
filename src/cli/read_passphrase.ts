/** Reads a passphrase: asked twice on a terminal, without echo; else the first line of standard input. */
import { failure, type Result, success } from "../lib/result.ts";

/** The passphrase, or why there is none. */
export async function readPassphrase(say: (text: string) => void): Promise<Result<string, string>> {
  if (!Deno.stdin.isTerminal()) {
    return success((await new Response(Deno.stdin.readable).text()).split(/\r?\n/, 1)[0] ?? "");
  }
  const first = await askHidden("Passphrase: ", say);
  const second = first === null ? null : await askHidden("Once more: ", say);
  if (first === null || second === null) return failure("interrupted");
  return first === second ? success(first) : failure("the two entries differ");
}

export function passphraseMissing(why: string): string {
  return `error: ${why}\nhint: nothing was changed; try again\n`;
}

const enter = ["\r", "\n"];
const erase = ["\b", "\x7f"];
const eraseLine = "\x15"; // Ctrl-U
const interrupt = ["\x03", "\x04"]; // Ctrl-C, Ctrl-D
/** In raw mode, Ctrl-C is a character and no signal. */
const endingSignals: readonly Deno.Signal[] = Deno.build.os === "windows" ? [] : ["SIGTERM", "SIGHUP"];

/** `null` when interrupted. Echo is always switched on again. */
async function askHidden(question: string, say: (text: string) => void): Promise<string | null> {
  const ended = Promise.withResolvers<null>();
  const end = (): void => ended.resolve(null);
  for (const signal of endingSignals) Deno.addSignalListener(signal, end);
  Deno.stdin.setRaw(true); // before the question, so that nothing typed after it is shown
  try {
    say(question);
    return await Promise.race([readHidden(), ended.promise]);
  } finally {
    Deno.stdin.setRaw(false);
    for (const signal of endingSignals) Deno.removeSignalListener(signal, end);
    say("\n");
  }
}

async function readHidden(): Promise<string | null> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(1_024);
  let entered = "";
  for (;;) {
    const count = await Deno.stdin.read(buffer);
    if (count === null) return null;
    for (const character of decoder.decode(buffer.subarray(0, count), { stream: true })) {
      if (interrupt.includes(character)) return null;
      if (enter.includes(character)) return entered;
      if (character === eraseLine) entered = "";
      else entered = erase.includes(character) ? Array.from(entered).slice(0, -1).join("") : entered + character;
    }
  }
}
