/** The gate runs on a machine that has Node alone: a test asks for a program before it starts it, and is skipped by name. */
import assert from "node:assert/strict";
import { hasProgram, needsPrograms, succeeds } from "./fixtures/skipped_unless.ts";
import { sourceFiles } from "./fixtures/source_files.ts";

/** What every machine has that can start the gate: a shell, and the utilities of POSIX. */
const always = new Set(["sh", "cp", "id", "mkfifo", "rm", "stat"]);

/** What tests start by a helper or a launcher, whose words may mean other things too. */
const known = ["bash", "perl", "strace", "unshare", "openssl", "git", "tar", "gcc", "curl", "python3"];

/** Where the file that starts a program leaves the question to those that use it. */
const askedBy: Readonly<Record<string, string>> = {
  "tests/connections/real_proxies.ts": "tests/connections/proxy_faults_test.ts",
};

const itself = ["tests/fixtures/skipped_unless.ts", "tests/optional_programs_test.ts"];

/** Parts with tasks of their own, which the gate does not run. */
const ofOtherTasks = /^tests\/(?:interop|conformance|soak|simulated_fleet|ollama_real)\//;

const starts = /(?:\bDeno\.Command|\b(?:spawn|exec|execFile)(?:Sync)?)\(\s*"([a-z][\w.-]*)"/g;
const mayStart = new RegExp(`[([]\\s*"(${known.join("|")})",\\s*["[]`, "g");
/** It cannot be caught like that: `Deno.Command` throws before there is a promise. */
const caughtTooLate =
  /new Deno\.Command\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*\.(?:output|spawn)\(\)\s*\.(?:catch|then)\(/;

/** The programs that a text starts and does not ask for; one that asks for a variable's program is taken at its word. */
function unasked(text: string, asking = text): readonly string[] {
  const started = [...text.matchAll(starts), ...text.matchAll(mayStart)].map(([, name = ""]) => name);
  const asks = (name: string): boolean =>
    new RegExp(`(?:hasProgram|needsPrograms|succeeds)\\(\\s*(?:[^;]*?"${name}"|\\[?[a-z])|every\\(hasProgram`).test(
      asking,
    );
  return [...new Set(started)].filter((name) => !always.has(name) && !asks(name)).sort();
}

Deno.test("programs that a machine may lack are asked for, by every file of the gate that starts one", () => {
  const files = sourceFiles("tests");
  const faults: string[] = [];
  for (const [file, text] of files) {
    if (ofOtherTasks.test(file) || itself.includes(file)) continue;
    const asking = files.get(askedBy[file] ?? file);
    faults.push(...unasked(text, asking).map((name) => `${file} starts ${name}`));
    if (caughtTooLate.test(text)) faults.push(`${file} catches what Deno.Command throws at once`);
  }
  assert.deepEqual(faults, []);
});

Deno.test("programs that a test does not ask for are found, however it starts them", () => {
  assert.deepEqual(unasked('new Deno.Command("strace", {})'), ["strace"]);
  assert.deepEqual(unasked('new Deno.Command(\n  "perl")'), ["perl"]);
  assert.deepEqual(unasked('execFileSync("git", ["init"])'), ["git"]);
  assert.deepEqual(unasked('launcher: ["bash", "-c", "x"]'), ["bash"]);
  assert.deepEqual(unasked('await run("openssl", ["x"])'), ["openssl"]);
  assert.deepEqual(unasked('needsPrograms(["bash"], name); run("bash", "-c")'), []);
  assert.deepEqual(unasked('new Deno.Command("sh")'), []);
  for (
    const text of ['new Deno.Command("a", { args: f(g()) }).output().catch(', 'new Deno.Command("a").output().then(']
  ) {
    assert.match(text, caughtTooLate);
  }
});

Deno.test("a program that is missing, no program or not to be reached is told without an exception", async () => {
  const directory = await Deno.makeTempDir();
  const path = Deno.env.get("PATH") ?? "";
  try {
    await Deno.writeTextFile(`${directory}/no-program`, "", { mode: 0o600 });
    await Deno.mkdir(`${directory}/a-directory`);
    Deno.env.set("PATH", `${directory}:${path}`);
    for (const name of ["there-is-no-such-program", "no-program", "a-directory"]) {
      assert.equal(hasProgram(name), false);
      assert.equal(succeeds(name, []), false);
    }
    const scripts = {
      "of-no-shell": "#!/no/such/shell -e",
      "of-no-name": "#!/usr/bin/env no-such-program",
      well: "#!/bin/sh",
    };
    for (const [name, text] of Object.entries(scripts)) {
      await Deno.writeTextFile(`${directory}/${name}`, `${text}\n`, { mode: 0o700 });
      assert.equal(hasProgram(name), name === "well", name);
    }
    await Deno.symlink("gone", `${directory}/dangling`);
    assert.equal(hasProgram("dangling"), false);
    for (const name of [`${directory}/no-program`, `${directory}/a-directory`]) assert.equal(succeeds(name, []), false);
    assert.equal(succeeds(Deno.execPath(), ["--version"]), true);
    assert.deepEqual(needsPrograms(["no-such-a", "no-such-b"], "a test"), {
      name: "SKIPPED a test: there is no no-such-a, no no-such-b",
      ignore: true,
    });
  } finally {
    Deno.env.set("PATH", path);
    await Deno.remove(directory, { recursive: true });
  }
});
