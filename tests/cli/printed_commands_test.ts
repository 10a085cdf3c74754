/** Command lines that the program prints run as they are printed, by the person who reads them. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { makeServerPlace, runCommand } from "../fixtures/running_server.ts";
import { sourceFiles } from "../fixtures/source_files.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const commands =
  "serve|connect|stdio|token|users|clients|keys|config|doctor|audit|connections|workspace|trash|backup|restore|hash-password";

needing("sources").test("commands in hints run, with --help, as they are printed", async () => {
  await using place = await makeServerPlace();
  const at = ["--data-dir", place.dataDir, "--workspace", place.workspaceDir];
  const asked = [
    ["nonsense"],
    ["token", "revoke", "none", ...at],
    ["clients", "remove", "none", ...at],
    ["clients", "list", ...at],
    ["users", "reset", "bob", ...at],
    ["users", "frobnicate", ...at],
    ["token", "create", "--scope", "files:read", "--user", "bob", ...at],
    ["trash", "restore", "none", ...at],
    ["audit", "verify", "--head", "x", ...at],
    ["connect", "claude-desktop", "--port", "3999", ...at],
    ["connect", "chatgpt", "--port", "3999", ...at],
    ["doctor", ...at],
  ];
  const printed = new Set<string>();
  for (const words of asked) {
    const { stdout, stderr } = await runCommand(words, { env: { OWNER_PASSWORD_HASH: "" } });
    const shown = `${stdout}${stderr}`;
    for (const [line] of shown.matchAll(/(?<=`)[^`\n]* run -A [^`\n]*(?=`)|(?<=hint: )[^`\n]* run -A [^`\n]*$/gm)) {
      printed.add(line);
    }
    assert.doesNotMatch(
      `${stdout}${stderr}`,
      new RegExp(`\`(?:portcullis |deno task )?(?:${commands})(?: [a-z-]+)*\` (?:shows|prints|makes|comes)`),
    );
  }
  const lines = [...printed];
  assert.ok(lines.length >= 5, JSON.stringify(lines));
  for (const line of lines) {
    const [command = ""] = /^.* run -A main\.ts/.exec(line) ?? [];
    assert.ok(
      line.includes(` --data-dir ${place.dataDir}`) || line.endsWith("--help"),
      `${line}: of another installation`,
    );
    const { code, stdout } = await new Deno.Command("sh", { args: ["-c", `${command} --help`], cwd: root }).output();
    assert.equal(code, 0, line);
    assert.ok(new TextDecoder().decode(stdout).includes(command), line);
  }
});

Deno.test("no text of the sources names a command that only some can run", () => {
  const faults = [...sourceFiles("src")].flatMap(([file, text]) =>
    [...text.matchAll(new RegExp(`\\b(?:run|see|with|of|by|hint:) \\\\?\`((?:deno task|(?:${commands}) ).*?)\``, "g"))]
      .filter(({ index }) => !/(?:\/\/|\*).*$/.test(text.slice(text.lastIndexOf("\n", index), index)))
      .map(([, line]) => `${file}: ${line}`)
  );
  assert.deepEqual(faults, []);
});
