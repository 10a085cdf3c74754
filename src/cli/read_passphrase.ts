/** A passphrase from whoever calls: asked twice on a terminal, without echo; the first line of a pipe otherwise. */

/** `null` when the two entries differ. */
export async function readPassphrase(say: (text: string) => void): Promise<string | null> {
  if (!Deno.stdin.isTerminal()) return (await new Response(Deno.stdin.readable).text()).split(/\r?\n/, 1)[0] ?? "";
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
