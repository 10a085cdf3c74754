/** Files that are read in one go: which are, and that none stays open. */
import assert from "node:assert/strict";
import { loadKernel } from "../../src/files/kernel/kernel.ts";
import { whereKernelConfines } from "../fixtures/confining_kernel.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

const kernel = loadKernel();

Deno.test({
  ...skippedUnless(
    ...whereKernelConfines,
    "readWhole() reads regular files that leave room in the buffer, nothing else, and leaves none open",
  ),
  async fn() {
    assert.ok(kernel.available);
    const base = await Deno.makeTempDir();
    const path = `${base}/root`;
    Deno.mkdirSync(`${path}/deep/er`, { recursive: true });
    Deno.writeTextFileSync(`${base}/outside`, "secret");
    const root = kernel.roots.open(path);
    try {
      const texts = { "deep/er/file": "twelve bytes", empty: "", full: "x".repeat(64), long: "x".repeat(65) };
      for (const [name, text] of Object.entries(texts)) Deno.writeTextFileSync(`${path}/${name}`, text);
      Deno.linkSync(`${path}/empty`, `${path}/second`);
      Deno.symlinkSync("deep/er/file", `${path}/link`);
      Deno.symlinkSync("deep", `${path}/way`);
      await new Deno.Command("mkfifo", { args: [`${path}/pipe`] }).output();
      const buffer = new Uint8Array(64);
      const read = (name: string) => kernel.roots.readWhole(root, name, buffer);
      const before = Array.from(Deno.readDirSync("/proc/self/fd")).length;
      assert.deepEqual(read("deep/er/file"), { sizeBytes: 12, nlink: 1 });
      assert.equal(new TextDecoder().decode(buffer.subarray(0, 12)), "twelve bytes");
      assert.deepEqual(read("second"), { sizeBytes: 0, nlink: 2 });
      const others = ["full", "long", "deep", "link", "way/er/file", "pipe", "none", "deep/none", "/etc/hostname"];
      for (
        const name of [...others, "../outside", "deep/../../outside", "/dev/zero", "x".repeat(300), "x/".repeat(3_000)]
      ) {
        assert.equal(read(name), null, name);
      }
      assert.throws(() => read("nul\0"), { name: "KernelError" });
      structuredClone(buffer.buffer, { transfer: [buffer.buffer] });
      assert.throws(() => assert.notEqual(read("deep/er/file"), null));
      assert.equal(Array.from(Deno.readDirSync("/proc/self/fd")).length, before);
    } finally {
      root.close();
      await Deno.remove(base, { recursive: true });
    }
  },
});
