/** The passphrase prompt on a terminal of its own, made by script(1). */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { hasProgram } from "../fixtures/skipped_unless.ts";

const onSources = needing("sources");
const isLinux = Deno.build.os === "linux";

/** Types at each question, in turn, and returns what the terminal showed; the shell in it then says how it is set. */
async function atTerminal(answers: readonly string[]): Promise<string> {
  const main = fileURLToPath(new URL("../../main.ts", import.meta.url));
  const program = `'${Deno.execPath()}' run -A '${main}' hash-password; echo "status=$?"; stty -a`;
  const child = new Deno.Command("script", {
    args: ["-qfec", program, "/dev/null"],
    env: { NO_COLOR: "1", SHELL: "/bin/sh" },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const keyboard = child.stdin.getWriter();
  const decoder = new TextDecoder();
  let shown = "";
  let answered = 0;
  for await (const bytes of child.stdout) {
    shown += decoder.decode(bytes, { stream: true });
    const questions = shown.match(/Passphrase: |Once more: /g)?.length ?? 0;
    for (; answered < questions && answered < answers.length; answered++) {
      await keyboard.write(new TextEncoder().encode(answers[answered]));
    }
  }
  await child.status;
  await keyboard.close().catch(() => {});
  return shown;
}

const passphrase = "several words of one's own";

if (isLinux && hasProgram("script") && hasProgram("stty")) {
  const interruptions = { "Ctrl-C": "\x03", "Ctrl-C within the entry": "half\x03", "Ctrl-D": "\x04" };
  for (const [what, keys] of Object.entries(interruptions)) {
    onSources.test(`${what} at the passphrase prompt changes nothing and leaves the terminal's echo on`, async () => {
      const shown = await atTerminal([keys]);
      assert.match(shown, /error: interrupted\r?\nhint: nothing was changed/, shown);
      assert.match(shown, /status=1/);
      assert.match(shown, /[^-]echo /, shown);
      assert.doesNotMatch(shown, /-icanon| -echo |half|Uncaught/);
    });
  }

  onSources.test("a passphrase is asked twice and not shown; Ctrl-U begins again; two that differ are refused", async () => {
    const same = await atTerminal([`wrong\x15${passphrase}\r`, `${passphrase}\r`]);
    assert.match(same, /status=0/, same);
    assert.ok(!same.includes("several words") && !same.includes("wrong"), same);
    const different = await atTerminal([`${passphrase}\r`, "another\r"]);
    assert.match(different, /error: the two entries differ\r?\nhint: nothing was changed/);
    assert.match(different, /status=1/);
  });
}
