/** The completion scripts, run by the shells that they are for; a shell that is not installed is skipped by name. */
import assert from "node:assert/strict";
import { runCommand } from "../fixtures/running_server.ts";
import { needsPrograms } from "../fixtures/skipped_unless.ts";

interface Shell {
  readonly name: string;
  /** A program for the shell that prints what it would offer for `portcullis WORDS...`, one a line. */
  readonly ask: (script: string, words: readonly string[]) => string;
}

const shells: readonly Shell[] = [
  {
    name: "bash",
    ask: (script, words) =>
      `${script}\nCOMP_WORDS=(portcullis ${words.map((word) => `'${word}'`).join(" ")})\nCOMP_CWORD=${words.length}\n` +
      `_portcullis\nprintf '%s\\n' "\${COMPREPLY[@]}"`,
  },
  {
    name: "zsh",
    ask: (script, words) =>
      `compdef() { }\n_describe() { print -l -- \${(P)2} }\ncompadd() { shift; print -l -- $@ }\n_directories() { print -l -- */(N) }\n` +
      `${script}\nwords=(portcullis ${words.map((word) => `'${word}'`).join(" ")})\nCURRENT=${
        words.length + 1
      }\n_portcullis`,
  },
  { name: "fish", ask: (script, words) => `${script}\ncomplete -C 'portcullis ${words.join(" ")}'` },
];

for (const { name, ask } of shells) {
  Deno.test({
    ...needsPrograms(
      [name],
      `completions ${name}: commands, their words, their flags and directories`,
    ),
    async fn() {
      const { code, stdout: script, stderr } = await runCommand(["completions", name]);
      assert.equal(code, 0, stderr);
      const directory = await Deno.makeTempDir({ prefix: "portcullis-completions-" });
      await Deno.mkdir(`${directory}/with blank`);
      const offers = async (words: readonly string[]): Promise<string[]> => {
        const { stdout, stderr } = await new Deno.Command(name, {
          args: ["-c", ask(script, words)],
          cwd: directory,
          env: { HOME: directory },
        }).output();
        assert.equal(new TextDecoder().decode(stderr), "");
        return new TextDecoder().decode(stdout).split("\n").map((line) => line.split(/[:\t]/)[0] ?? "");
      };
      const commands = await offers([""]);
      for (const command of ["serve", "token", "doctor", "connect"]) assert.ok(commands.includes(command), command);
      const words = await offers(["token", ""]);
      for (const word of ["create", "list", "revoke"]) assert.ok(words.includes(word), word);
      assert.ok((await offers(["connect", "cur"])).includes("cursor"));
      const flags = await offers(["token", "create", "--"]);
      for (const flag of ["--scope", "--data-dir"]) assert.ok(flags.includes(flag), flag);
      assert.ok((await offers(["serve", "--workspace", ""])).some((offer) => offer.startsWith("with blank")));
      await Deno.remove(directory, { recursive: true });
    },
  });
}

Deno.test("completions refuses a shell that it does not know", async () => {
  const { code, stdout, stderr } = await runCommand(["completions", "powershell"]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /bash \| zsh \| fish/);
});
