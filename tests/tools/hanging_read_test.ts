/** A file whose read does not end, such as of a network mount: a search passes over it, and goes on with the others. */
import assert from "node:assert/strict";
import type { KernelRoots } from "../../src/files/kernel/descriptor.ts";
import { loadKernel } from "../../src/files/kernel/kernel.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { loadScreenedKernel } from "../fixtures/screened_kernel.ts";
import { hasProgram, skippedUnless } from "../fixtures/skipped_unless.ts";
import { until } from "../fixtures/until.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

const files = 128; // the last 64 of them may be handed to the other thread at once
const hanging = "f100";
const clock = (): number => 0; // on a busy machine, to find that a read hangs takes as long as a search may take

function makeFiles(root: string): void {
  for (let n = 0; n < files; n++) {
    Deno.writeTextFileSync(`${root}/f${n}`.replace(/\d+$/, (digits) => digits.padStart(3, "0")), `needle ${n}\n`);
  }
}

const loaded = loadKernel();

Deno.test({
  ...skippedUnless(loaded.available, "no openat2", "a search passes over a file whose read hangs, and reads it later"),
  async fn() {
    if (!loaded.available) return;
    let goesOn = true;
    let handed = 0;
    const screen: KernelRoots["screen"] = () => ({
      isFull: () => handed === 3,
      hand(file) {
        handed++;
        file.close();
      },
      next: () => "waiting",
      rouse: () => {},
      end: () => {},
      abandon: () => () => goesOn,
    });
    await withWorkspace(async ({ root, workspace }) => {
      makeFiles(root);
      const search = () =>
        answerOf(fileSearchTool(workspace, { clock }), { query: "needle", show: "count", limit: 1_000 });
      const { text } = await search();
      assert.equal(text.match(/^f\d+/gm)?.length, files - 1, text);
      const unread = /unreadable[^)]*?(f\d+)/.exec(text)?.[1] ?? "";
      assert.match((await failureOf(fileReadTool(workspace, null), { filename: unread })).message, /does not answer/);
      goesOn = false;
      assert.match((await answerOf(fileReadTool(workspace, null), { filename: unread })).text, /needle/);
    }, { kernel: { ...loaded.roots, screen } });
  },
});

Deno.test({
  ...skippedUnless(
    hasProgram("strace") && loaded.available && navigator.hardwareConcurrency > 1,
    "no openat2, strace(1) or second core",
    "a search goes on when the kernel keeps the other thread in a read, and has that thread again afterwards",
  ),
  async fn() {
    const { kernel } = loadScreenedKernel();
    assert.ok(kernel.available);
    const before = threads();
    await withWorkspace(async ({ root, workspace }) => {
      makeFiles(root);
      const search = async () =>
        (await answerOf(fileSearchTool(workspace, { clock }), { query: "nothing", limit: 1_000 })).text;
      assert.match(await search(), /128 searched/);
      const thread = await until("the thread", () => threads().find((each) => !before.includes(each)));
      await until("it is there", async () => {
        await search();
        return kernel.roots.screen?.([/x/])?.end() === undefined && isAsleep(thread);
      });
      const args = ["-p", thread, "-P", `${root}/${hanging}`, "-e", "inject=pread64:delay_enter=600000000"];
      const tracer = new Deno.Command("strace", { args, stdout: "null", stderr: "piped" }).spawn();
      const output = tracer.stderr.getReader();
      await output.read(); // that it is attached
      const passedOver = await search();
      tracer.kill("SIGTERM");
      output.releaseLock();
      await Promise.all([tracer.status, tracer.stderr.cancel()]);
      assert.match(passedOver, /1 unreadable/);
      await until("the read has ended", async () => !(await search()).includes("unreadable"));
    }, { kernel: kernel.roots });
  },
});

function threads(): readonly string[] {
  return Array.from(Deno.readDirSync("/proc/self/task"), ({ name }) => name).filter((thread) =>
    /^worker-/.test(Deno.readTextFileSync(`/proc/self/task/${thread}/comm`))
  );
}

function isAsleep(thread: string): boolean {
  return / S /.test(Deno.readTextFileSync(`/proc/self/task/${thread}/stat`));
}
