/** The gate itself: it leaves no test file out, and takes nothing for a success that is none. */
import assert from "node:assert/strict";
import { join, relative } from "node:path";
import { readReports, runTests } from "../../scripts/gate/run_tests.ts";
import { createProgress } from "../../scripts/gate/progress.ts";
import { readCounts } from "../../scripts/gate/run_part.ts";
import { groupTests, partOf, testFiles } from "../../scripts/gate/test_groups.ts";
import { root } from "../../scripts/bundle.ts";
import { needsPrograms } from "../fixtures/skipped_unless.ts";

Deno.test("each test file runs once, in one part of the gate, and alone where nothing may run beside it", () => {
  const files = testFiles();
  assert.ok(files.includes("tests/ship/gate_test.ts") && files.length > 200);
  const parts = (["first", "long", "full"] as const).map((part) =>
    groupTests(files.filter((file) => partOf(file) === part))
  );
  assert.deepEqual(parts.flatMap(({ together, alone }) => [...together, ...alone].flat()).sort(), files);
  assert.deepEqual(parts[0]?.alone, [], "the first part waits for none");
  assert.ok(parts[1]?.alone.every((group) => group.length === 1));
});

Deno.test("files that are in no list, or are gone, change nothing for the others", () => {
  const files = ["tests/new/one_test.ts", "tests/new/two_test.ts"];
  assert.deepEqual(groupTests(files), { together: [files], alone: [] });
  assert.equal(partOf("tests/hostile_load/new_test.ts"), "long", "a folder counts for what comes into it");
});

Deno.test("a process that takes too long is killed, whatever signals its tests hear, and named", async () => {
  const directory = await Deno.makeTempDir();
  const file = `${directory}/hangs_test.ts`;
  const hangs = 'Deno.test("hangs", () => new Promise(() => setInterval(() => {}, 1_000)));';
  await Deno.writeTextFile(file, `import process from "node:process";\nprocess.on("SIGTERM", () => {});\n${hangs}\n`);
  try {
    const { passed, failed, errors, problems } = await runTests(
      { together: [[file]], alone: [] },
      1,
      () => {},
      { mostMs: () => 4_000 },
    );
    assert.deepEqual([passed, failed, problems[0]], [0, 0, `the tests broke off: ${file}`]);
    assert.match(errors[0] ?? "", /killed: it took more than \d+ minutes$/);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("what runs alone waits for what the gate runs beside the other files", async () => {
  const said: string[] = [];
  const alone = [["tests/ship/none_test.ts"]];
  const beside = Promise.reject(new Error("it broke off"));
  await assert.rejects(
    runTests({ together: [], alone }, 1, (line) => void said.push(line), { beside }),
    /it broke off/,
  );
  assert.deepEqual(said, [], "nothing has run");
});

Deno.test("the counts of a command are those of its last line, or of every suite in it", () => {
  const text = "ok | 3 passed (2 steps) | 0 failed (1s)\nx\nFAILED | 1 passed | 2 failed | 4 ignored (2s)\n";
  assert.deepEqual(readCounts(text), { passed: 1, failed: 2, ignored: 4 });
  assert.deepEqual(readCounts(text, { isEvery: true }), { passed: 4, failed: 2, ignored: 4 });
  assert.deepEqual(readCounts("bare machine | 7 passed | 0 failed | 1 ignored (2 min)\n"), {
    passed: 7,
    failed: 0,
    ignored: 1,
  });
  assert.equal(readCounts("it broke off"), null);
});

/** Runs .ci/run where `deno` and what it looks for are scripts; `says` is what `deno task ok "$@"` does. */
async function runCi(says: string): Promise<{ readonly code: number; readonly last: string }> {
  const directory = await Deno.makeTempDir();
  try {
    const programs = [
      "npm",
      "chromium",
      "initdb",
      "strace",
      "aarch64-linux-gnu-gcc",
      "qemu-aarch64-static",
    ];
    const version = /^deno_version=(\S+)$/m.exec(await Deno.readTextFile(`${root}.ci/run`))?.[1];
    const deno = `case "$*" in --version) echo "deno ${version} (stable)" ;; "task ok"*) shift 2; ${says} ;; esac`;
    for (const [name, text] of [...programs.map((program) => [program, "exit 0"]), ["deno", deno]]) {
      await Deno.writeTextFile(`${directory}/${name}`, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    }
    const { code, stdout } = await new Deno.Command("bash", {
      args: [`${root}.ci/run`],
      env: { PATH: `${directory}:${Deno.env.get("PATH")}`, COMPILE_DENO: "deno" },
      stderr: "null",
    }).output();
    return { code, last: new TextDecoder().decode(stdout).trimEnd().split("\n").at(-1) ?? "" };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const first = '[ "$*" != "" ] || echo "ok | 400 passed | 0 failed | 2 ignored (4.0 min)"';
const second = (text: string): string => `${first}; [ "$*" != --long ] || { ${text}; }`;
for (
  const [title, says, code, last] of [
    ["adds up", second('echo "ok | 30 passed | 0 failed | 1 ignored (9.0 min)"'), 0, "430 passed, 0 failed, 3 skipped"],
    [
      "says what failed",
      second('echo "FAILED | 29 passed | 1 failed | 1 ignored (9.0 min)"; exit 1'),
      1,
      "429 passed, 1 failed, 3 skipped",
    ],
    [
      "takes a lint failure for one",
      second('echo "FAILED | 30 passed | 0 failed | 0 ignored (9.0 min)"; exit 1'),
      1,
      "430 passed, 1 failed, 2 skipped",
    ],
    ["takes a part without its last line for a failure", second("exit 0"), 1, "400 passed, 1 failed, 2 skipped"],
  ] as const
) {
  Deno.test(needsPrograms(["bash"], `.ci/run, of both parts of the gate: ${title}`), async () => {
    assert.deepEqual(await runCi(says), { code, last });
  });
}

Deno.test("the gate adds up what its processes print, and names what was skipped", () => {
  const report = readReports([
    {
      files: ["tests/a_test.ts"],
      text:
        "running 3 tests from ./tests/a_test.ts\none ... ok (1ms)\nSKIPPED two: there is no shell ... ignored (0ms)\n" +
        "------- output -------\nok | 99 passed | 0 failed (1s)\n----- output end -----\nthree ... ok (2s)\n\n" +
        "ok | 2 passed (4 steps) | 0 failed | 1 ignored (2s)\n",
    },
    {
      files: ["tests/b_test.ts"],
      text: "running 1 test from ./tests/b_test.ts\nfour ... FAILED (1ms)\n\nFAILED | 0 passed | 1 failed (1m2s)\n",
    },
  ]);
  assert.deepEqual([report.passed, report.failed], [2, 1]);
  assert.deepEqual(report.skipped, ["SKIPPED two: there is no shell"]);
  assert.deepEqual([...report.suites], [["tests/a_test.ts", 3], ["tests/b_test.ts", 1]]);
  assert.deepEqual(report.problems, []);
});

Deno.test("the gate names failed tests with their errors, and shows how a process broke off", () => {
  const failed = (name: string) =>
    `running 1 test from ./tests/${name}_test.ts\n${name} ... FAILED (1ms)\n\n ERRORS \n\n` +
    `${name} => ./tests/${name}_test.ts:3:6\nerror: Error: why ${name}\n    at x.ts:1:1\n\n` +
    ` FAILURES \n\n${name} => ./tests/${name}_test.ts:3:6\n\nFAILED | 0 passed | 1 failed (1ms)\n\nerror: Test failed\n`;
  const { failures, errors } = readReports([
    { files: ["tests/one_test.ts"], text: failed("one") },
    {
      files: ["tests/well_test.ts"],
      text: "running 1 test from ./tests/well_test.ts\n\nok | 1 passed | 0 failed (1ms)\n",
    },
    { files: ["tests/two_test.ts"], text: failed("two") },
    { files: ["tests/none_test.ts"], text: "error: Module not found\n    at none_test.ts:1:8\n" },
  ]);
  assert.deepEqual(failures, ["one => ./tests/one_test.ts:3:6", "two => ./tests/two_test.ts:3:6"]);
  assert.deepEqual(errors, [
    "one => ./tests/one_test.ts:3:6\nerror: Error: why one\n    at x.ts:1:1",
    "two => ./tests/two_test.ts:3:6\nerror: Error: why two\n    at x.ts:1:1",
    "error: Module not found\n    at none_test.ts:1:8",
  ]);
});

Deno.test("the gate fails where a process breaks off, a file does not run, or a test is skipped without a reason", () => {
  const { problems } = readReports([
    { files: ["tests/a_test.ts"], text: "running 2 tests from ./tests/a_test.ts\none ... ok (1ms)\nkilled\n" },
    {
      files: ["tests/b_test.ts", "tests/c_test.ts"],
      text:
        "running 1 test from ./tests/b_test.ts\ntwo ... ignored (0ms)\n\nok | 0 passed | 0 failed | 1 ignored (1ms)\n",
    },
  ]);
  assert.deepEqual(problems, [
    "the tests broke off: tests/a_test.ts",
    "skipped without a reason: two",
    "did not run: tests/c_test.ts",
  ]);
});

Deno.test("the gate says which file ended, how many of how many, and roughly how much is left", () => {
  const written: string[] = [];
  let time = 0;
  const files = ["tests/a_test.ts", "tests/b_test.ts", "tests/c_test.ts", "tests/d_test.ts"];
  const progress = createProgress(files, { write: (line) => written.push(line), now: () => time });
  const [one, other] = [progress.follow(), progress.follow()];
  one.line("running 2 tests from ./tests/a_test.ts");
  one.line("running 1 test from ./tests/b_test.ts");
  one.line("running 3 tests from ./scripts/gate/one_isolate.ts");
  one.line("good ... ok (1ms)");
  one.line("  one of its steps ... ok (1ms)");
  other.line("running 1 test from ./tests/c_test.ts");
  progress.remind();
  time = 120_000;
  one.line("SKIPPED more: there is no shell ... ignored (0ms)");
  progress.remind();
  one.line("bad ... FAILED (due to 1 failed step) (1ms)");
  one.end();
  other.end();
  assert.deepEqual(written, [
    "still running: tests/a_test.ts, tests/c_test.ts",
    "1 of 4: tests/a_test.ts: 2 tests in 120 s, 1 skipped, about 6 min left",
    "still running: tests/b_test.ts, tests/c_test.ts, about 6 min left",
    "2 of 4: tests/b_test.ts: 1 test in 0 s, 1 FAILED, about 2 min left",
    "3 of 4: tests/c_test.ts: 1 test in 120 s, less than a minute left",
  ]);
});

Deno.test("files that share an isolate are counted one by one, and one that cannot be loaded fails by name", async () => {
  const place = await Deno.makeTempDir();
  await using _place = { [Symbol.asyncDispose]: () => Deno.remove(place, { recursive: true }) };
  const texts = {
    one:
      'Deno.test.afterAll(() => {});\nDeno.test("first", () => {});\nfor (const n of [2, 3]) Deno.test(`${n}`, () => {});\n',
    none: 'import "./there_is_none.ts";\n',
    bad: '\nDeno.test("bad", () => {\n  throw new Error("why");\n});\n',
  };
  const files = Object.entries(texts).map(([name, text]) => {
    const path = join(place, `${name}_test.ts`);
    Deno.writeTextFileSync(path, text);
    return relative(root, path);
  });
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "--config", "deno.dev.json", "-A", "--no-check", "scripts/gate/one_isolate.ts", "--", ...files],
    cwd: root,
    env: { NO_COLOR: "1" },
  }).output();
  const { passed, failed, suites, failures, problems } = readReports([
    { files, text: new TextDecoder().decode(stdout) },
  ]);
  assert.deepEqual([passed, failed, problems], [3, 2, []]);
  assert.deepEqual([...suites.values()], [3, 1, 1]);
  assert.match(failures.join("\n"), /none_test\.ts can be loaded[^]*bad => \S*bad_test\.ts:2:6/);
});
