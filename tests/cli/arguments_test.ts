import assert from "node:assert/strict";
import { parseArguments } from "../../src/cli/run_command.ts";

Deno.test("parseArguments() takes words, flags with a blank or an equals sign, and everything after --", () => {
  const parsed = parseArguments(["token", "create", "--scope", "files:read llm:generate", "--port=0", "--", "--x"], [
    "scope",
  ]);
  assert.deepEqual(parsed.words, ["token", "create", "--x"]);
  assert.deepEqual(parsed.flags, { scope: "files:read llm:generate", port: "0" });
  assert.deepEqual(parsed.problems, []);
});

Deno.test("parseArguments() names every unknown flag and every flag without its value, and shows no value", () => {
  const { problems } = parseArguments(["serve", "--prot", "4000", "--data-dir", "--secret=hunter2", "-x"], []);
  assert.deepEqual(problems.map(({ field }) => field), ["--prot", "--data-dir", "--secret", "-x"]);
  assert.ok(!JSON.stringify(problems).includes("hunter2"));
});

Deno.test("parseArguments() names the nearest flag for a few mistakes, or for another end", () => {
  for (const [given, meant] of [["--scoop", "scope"], ["--scpoe", "scope"], ["--servr-url", "server-url"]] as const) {
    const { problems } = parseArguments(["token", "create", given, "x"], ["scope"]);
    assert.match(problems[0]?.hint ?? "", new RegExp(`did you mean --${meant}\\?`));
  }
  assert.doesNotMatch(parseArguments(["--xyz", "1"], ["scope"]).problems[0]?.hint ?? "", /did you mean/);
});

Deno.test("parseArguments() sees --help and --version wherever they stand", () => {
  assert.equal(parseArguments(["token", "--help"], []).help, true);
  assert.equal(parseArguments(["-V"], []).version, true);
});
