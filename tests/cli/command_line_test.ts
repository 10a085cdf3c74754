/** What the program says about a command line, as a person gets it wrong. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { makeServerPlace, runCommand } from "../fixtures/running_server.ts";
import { closestWord } from "../../src/lib/suggestible.ts";

const mistakes: readonly (readonly [args: string, error: RegExp])[] = [
  ["doctro", /there is no command "doctro"; did you mean doctor\?/],
  ["hlep", /there is no command "hlep"; did you mean help\?/],
  ["help tokne", /there is no command "tokne"; did you mean token\?/],
  ["token", /token needs one of: create, list, revoke/],
  ["token rvoke abc", /there is no `token rvoke`; did you mean revoke\?/],
  ["token revoke", /ID is missing: `token revoke` needs it\nhint: .* run -A main\.ts token revoke ID\n$/],
  ["clients remove", /ID is missing/],
  ["users add", /NAME is missing/],
  ["users reset", /NAME is missing/],
  ["users disable", /NAME is missing/],
  ["users enable", /NAME is missing/],
  ["backup", /DIRECTORY is missing/],
  ["restore", /DIRECTORY is missing/],
  ["connect curser", /did you mean cursor\?/],
  ["users list bob", /`users list` does not take "bob"/],
  ["keys list --now", /`keys list` does not take --now/],
  ["token list --scope files:read", /`token list` does not take --scope/],
  ["clients list --name x", /`clients list` does not take --name/],
  ["doctor now", /doctor takes no words, but got "now"/],
  ["healthcheck now", /takes no words/],
  ["hash-password secret", /takes no words/],
  ["stdio now", /takes no words/],
  ["serve now", /takes no words/],
  ["token create --scope", /1 flag is not usable\n {2}--scope: needs a value\nhint: .* token --help` lists its flags/],
  ["token create --scpoe x", /--scpoe: there is no such flag; did you mean --scope\?/],
  ["serve --workspce /x", /--workspce: there is no such flag; did you mean --workspace\?/],
  ["serve --qqqqqqqq", /--qqqqqqqq: there is no such flag here/],
  ["config now", /takes no words/],
  ["serve --confg x", /--confg: there is no such flag; did you mean --config\?/],
  ["config --al", /--al: there is no such flag here/],
  ["keys rotate --now=yes", /--now: takes no value/],
];

needing("sources").test(
  "a command line with a mistake is refused with exit status 2, the mistake's name and what is meant",
  async () => {
    for (const [args, error] of mistakes) {
      const { code, stdout, stderr } = await runCommand(args.split(" "));
      assert.equal(code, 2, `${args}: ${stderr}`);
      assert.equal(stdout, "", args);
      assert.match(stderr, /^error: /, args);
      assert.match(stderr, error, args);
    }
  },
);

Deno.test("closestWord() finds one or two mistakes in a word, and nothing in a short or foreign one", () => {
  const known = ["token", "doctor", "users", "connect"];
  const cases: readonly (readonly [string, string | null])[] = [
    ["tokne", "token"],
    ["doctro", "doctor"],
    ["conect", "connect"],
    ["user", "users"],
    ["x", null],
    ["serve", null],
    ["t".repeat(1_000), null],
  ];
  for (const [word, closest] of cases) assert.equal(closestWord(word, known), closest, word);
});

Deno.test("help COMMAND, COMMAND --help, help, version and -v answer on standard output", async () => {
  for (const args of [["help", "token"], ["token", "--help"], ["token", "create", "-h"]]) {
    const { code, stdout } = await runCommand(args);
    assert.equal(code, 0);
    assert.match(stdout, /token create --scope[\s\S]*--ttl/);
    assert.ok(stdout.split("\n").length < 30 && !stdout.includes("OLLAMA_HOST"), "no list of settings");
  }
  assert.equal((await runCommand(["help"])).stdout, (await runCommand(["--help"])).stdout);
  for (const args of [["version"], ["-v"], ["-V"], ["--version"]]) {
    assert.match((await runCommand(args)).stdout, /^portcullis \d+\.\d+\.\d+/);
  }
});

Deno.test("lists say when they are empty, keep standard output to entries, and have a heading", async () => {
  await using place = await makeServerPlace();
  const run = (...args: string[]) => runCommand([...args, "--data-dir", place.dataDir]);
  for (const command of ["token", "users", "clients", "keys"]) {
    const { code, stdout, stderr } = await run(command, "list");
    assert.deepEqual([code, stdout], [0, ""], command);
    assert.match(stderr, /^there are no /, command);
  }
  const made = await run("clients", "create", "--name", "Nightly job", "--scope", "files:read");
  const id = /client_id=(\S+)/.exec(made.stdout)?.[1];
  const { stdout, stderr } = await run("clients", "list");
  assert.match(stderr, /^ID +ORIGIN +SINCE +APPROVED +GRANT TYPES +NAME\n$/);
  assert.match(stdout, new RegExp(`^${id}  operator  \\S+  - +client_credentials  Nightly job\n$`), "never used");
});

Deno.test("commands on a user who does not exist say whose name is wrong and what comes first", async () => {
  await using place = await makeServerPlace();
  const run = (args: string[], stdin = "") =>
    runCommand([...args, "--data-dir", place.dataDir], { stdin: `${stdin}\n` });
  for (const action of ["disable", "enable"]) {
    assert.match((await run(["users", action, "owner"])).stderr, /^error: there is no owner yet; .*set-up link/);
    assert.match(
      (await run(["users", action, "bob"])).stderr,
      /^error: there is no user "bob"; `.* users list --data-dir \S+`/,
    );
  }
  const reset = await run(["users", "reset", "owner"], "a passphrase of several words");
  assert.match(reset.stderr, /^error: there is no owner yet; /);
  assert.match(
    (await run(["users", "add", "Bob"], "a passphrase of several words")).stderr,
    /^error: a name has 1 to 32/,
  );
});
