/** The gate itself: it leaves no test file out, and takes nothing for a success that is none. */
import assert from "node:assert/strict";
import { readReports } from "../../scripts/gate/run_tests.ts";
import { createProgress } from "../../scripts/gate/progress.ts";
import { groupTests, testFiles } from "../../scripts/gate/test_groups.ts";

Deno.test("the gate runs every test file once, and those alone that nothing may run beside", () => {
  const files = testFiles();
  assert.ok(files.includes("tests/ship/gate_test.ts") && files.length > 200);
  const { together, alone } = groupTests(files);
  assert.deepEqual([...together, ...alone].flat().sort(), files);
  assert.ok(alone.length > 0 && alone.every((group) => group.length === 1));
});

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
  const files = ["tests/a_test.ts", "tests/b_test.ts", "tests/c_test.ts"];
  const progress = createProgress(files, { write: (line) => written.push(line), now: () => time });
  const [one, other] = [progress.follow(), progress.follow()];
  one.line("running 2 tests from ./tests/a_test.ts");
  one.line("good ... ok (1ms)");
  one.line("SKIPPED more: there is no shell ... ignored (0ms)");
  other.line("running 1 test from ./tests/c_test.ts");
  progress.remind();
  time = 120_000;
  one.line("running 1 test from ./tests/b_test.ts");
  one.line("bad ... FAILED (1ms)");
  one.end();
  other.end();
  assert.deepEqual(written, [
    "still running: tests/a_test.ts, tests/c_test.ts",
    "1 of 3: tests/a_test.ts: 2 tests, 1 skipped, about 4 min left",
    "2 of 3: tests/b_test.ts: 1 test, 1 FAILED, about 1 min left",
    "3 of 3: tests/c_test.ts: 1 test",
  ]);
});
