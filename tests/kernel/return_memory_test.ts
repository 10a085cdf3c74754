/** Memory that was freed goes back to the system: the C library would keep what V8's compilers had. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { loadKernel } from "../../src/lib/kernel/kernel.ts";
import { systemTimers } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { startInstance } from "../simulated_fleet/instance.ts";

const kernel = loadKernel();
const here = [kernel.available, kernel.available ? "" : kernel.reason] as const;

Deno.test({
  ...skippedUnless(...here, "memory that was freed between other allocations goes back when it is asked for"),
  async fn() {
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--v8-flags=--expose-gc", fileURLToPath(new URL("return_memory.ts", import.meta.url))],
      signal: AbortSignal.timeout(60_000), // it waits until 30 MB are back
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    assert.match(new TextDecoder().decode(stdout), /^40 kept, \d\d MB returned\n$/);
  },
});

Deno.test({
  ...skippedUnless(...here, "a server returns what it has freed again and again"),
  async fn() {
    assert.ok(kernel.available);
    const directory = await Deno.makeTempDir();
    const storage = openSqliteStorage({ path: `${directory}/portcullis.db`, clock: Date.now });
    const repeated: (() => void)[] = [];
    const every = (_milliseconds: number, run: () => void): () => void => {
      repeated.push(run);
      return () => {};
    };
    let returned = 0;
    const app = await startInstance({
      storage,
      clock: Date.now,
      timers: { ...systemTimers, every },
      onLine: () => {},
      kernel: { ...kernel, returnFreedMemory: () => void returned++ },
    });
    for (const run of repeated) run();
    assert.equal(returned, 1);
    await app.close();
    await storage.close();
    await Deno.remove(directory, { recursive: true });
  },
});
