/** The second thread of a search, in each form of the program: it comes with a search of many files. */
import assert from "node:assert/strict";
import { loadKernel } from "../../src/files/kernel/kernel.ts";
import { type FormName, prepareForm, whyMissing } from "../fixtures/forms/prepare_form.ts";
import { fromSource, serverFlags, startProcess } from "../fixtures/forms/server_process.ts";
import { makeServerPlace } from "../fixtures/running_server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { until } from "../fixtures/until.ts";
import { call, createToken } from "../sandbox/call.ts";

const forms: readonly FormName[] = ["start", "bundle", "binary"];
const canScreen = loadKernel().available && navigator.hardwareConcurrency > 1;

/** How many isolates a process has beside its first. */
function workersOf(pid: number): number {
  const threads = Array.from(
    Deno.readDirSync(`/proc/${pid}/task`),
    ({ name }) => nameOf(`/proc/${pid}/task/${name}/comm`),
  );
  return threads.filter((name) => name.startsWith("worker-")).length;
}

function nameOf(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return ""; // it has ended
  }
}

for (const form of forms) {
  const missing = whyMissing(form);
  Deno.test({
    ...skippedUnless(
      canScreen && missing === null,
      missing ?? "no openat2, or one core",
      `a search of many files gets a second thread, and finds the same: ${form}`,
    ),
    async fn() {
      await using prepared = await prepareForm(form);
      const command = prepared.env["PORTCULLIS_PROGRAM"];
      const serve = ["serve"];
      const program = command === undefined
        ? { ...fromSource("main.ts", serverFlags), args: [...fromSource("main.ts", serverFlags).args, ...serve] }
        : { command, args: serve };
      await using place = await makeServerPlace();
      const token = await createToken(place.dataDir);
      await using server = await startProcess(program, place, {
        DATA_DIR: place.dataDir,
        WORKSPACE_DIR: place.workspaceDir,
        PORT: "0",
        OLLAMA_HOST: "127.0.0.1:1",
      });
      for (let n = 0; n < 500; n++) {
        Deno.writeTextFileSync(`${place.workspaceDir}/${n}.txt`, n === 333 ? "a needle\n" : `hay ${n}\n`);
      }
      const search = (): Promise<string> => call(server, token, "file_search", { query: "needle" });
      assert.equal(workersOf(server.pid), 1);
      const alone = await search();
      assert.match(alone, /333\.txt/);
      await until("the second thread", async () => {
        assert.equal(await search(), alone);
        return workersOf(server.pid) === 2;
      });
      for (let again = 0; again < 3; again++) assert.equal(await search(), alone);
      assert.equal(workersOf(server.pid), 2, "one that fails ends");
    },
  });
}
