import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { skippedUnless, succeeds } from "../fixtures/skipped_unless.ts";
import { loadKernel } from "../../src/files/kernel/kernel.ts";
import { raceFreedomOf } from "../../src/app/sandbox/describe_wall.ts";

const without = { available: false, reason: "this is a test" } as const;
const off = { raceFree: false, reason: without.reason };

Deno.test("raceFreedomOf() is on wherever the kernel resolves names", () => {
  const kernel = loadKernel();
  if (kernel.available) assert.deepEqual(raceFreedomOf("/absent", kernel), { raceFree: true, because: "kernel" });
});

Deno.test("raceFreedomOf() does not claim anything for a directory of a larger file system, or one that is not there", async () => {
  const directory = Deno.realPathSync(await Deno.makeTempDir());
  try {
    await Deno.mkdir(`${directory}/workspace`);
    assert.deepEqual(raceFreedomOf(`${directory}/workspace`, without), off);
    assert.deepEqual(raceFreedomOf(`${directory}/absent`, without), off);
    assert.deepEqual(raceFreedomOf("/proc", without), off, "a mount of an unknown kind");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

const mayMount = Deno.build.os === "linux" && succeeds("unshare", ["-m", "true"]);

Deno.test({
  ...skippedUnless(
    mayMount,
    "this machine lets nobody mount",
    "raceFreedomOf() finds a mount of a whole file system, and is not deceived by one of a part",
  ),
  async fn() {
    const directory = Deno.realPathSync(await Deno.makeTempDir());
    const script = `
      mkdir "$1/whole" "$1/part" &&
      mount -t tmpfs none "$1/whole" && mkdir "$1/whole/sub" && mount --bind "$1/whole/sub" "$1/part" &&
      "$2" run --no-prompt --allow-read --allow-sys=statfs "$3" "$1/whole" "$1/part"`;
    const probe = fileURLToPath(new URL("./print_race_freedom.ts", import.meta.url));
    try {
      const { stdout, stderr } = await new Deno.Command("unshare", {
        args: ["-m", "sh", "-c", script, "sh", directory, Deno.execPath(), probe],
      }).output();
      assert.equal(new TextDecoder().decode(stdout), "true\nfalse\n", new TextDecoder().decode(stderr));
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});
