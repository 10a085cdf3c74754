/**
 * `deno test scripts/gate/one_isolate.ts -- FILE...`: the tests of several files in one isolate, so that what they import is
 * read and compiled once. Before they run it says of each file how many tests it has, as `deno test` does.
 */
import process from "node:process";
import { root } from "../bundle.ts";

const test = Deno.test;
let registered = 0;

// Each reading of `Deno.test` is a test. A function in its place would hide the test's own file and line.
Object.defineProperty(Deno, "test", {
  get() {
    registered++;
    return test;
  },
});
for (const hook of ["beforeAll", "beforeEach", "afterEach", "afterAll"] as const) {
  const original = test[hook] as (...given: readonly unknown[]) => void;
  test[hook] = (...given: readonly unknown[]) => {
    registered--;
    original(...given);
  };
}

for (const file of Deno.args) {
  const before = registered;
  try {
    await import(`${root}${file}`);
  } catch (error) {
    Deno.test(`${file} can be loaded`, () => {
      throw error;
    });
  }
  const count = registered - before;
  process.stdout.write(`running ${count} ${count === 1 ? "test" : "tests"} from ./${file}\n`);
}
