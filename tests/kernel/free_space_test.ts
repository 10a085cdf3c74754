/** How full a file system is, beside what Node's own statfs says of it. */
import assert from "node:assert/strict";
import { statfsSync } from "node:fs";
import { loadKernel } from "../../src/lib/kernel/kernel.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

const kernel = loadKernel();
const here = [kernel.available, kernel.available ? "" : kernel.reason] as const;

Deno.test({
  ...skippedUnless(...here, "the space of a file system is what statfs(2) says, whether the path is there or not"),
  fn() {
    assert.ok(kernel.available);
    for (const path of ["/", "/proc", "/dev/shm", Deno.cwd()]) {
      const { bsize, blocks, bavail } = statfsSync(path);
      const space = kernel.freeSpace(path);
      assert.equal(space?.total, bsize * blocks, path);
      const now = bsize * statfsSync(path).bavail;
      const [least, most] = [Math.min(now, bsize * bavail), Math.max(now, bsize * bavail)];
      const others = 1_000_000_000; // what other processes write meanwhile
      assert.ok(space.free >= least - others && space.free <= most + others, `${path}: ${space.free}`);
    }
    for (const path of ["/dev/shm/not/there", "/dev/shm/", "/not"]) {
      const parent = path === "/not" ? "/" : "/dev/shm";
      assert.equal(kernel.freeSpace(path)?.total, kernel.freeSpace(parent)?.total, path);
    }
    assert.equal(kernel.freeSpace("not/there"), null);
    assert.throws(() => kernel.freeSpace("/\0/dev/shm"), { code: "EINVAL" });
  },
});

Deno.test({
  ...skippedUnless(...here, "the overview says how much space the disks have, behind the wall too"),
  async fn() {
    await using place = await makeServerPlace();
    // without a connection the page is about the first one alone
    const created = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
    assert.equal(created.code, 0, created.stderr);
    await using server = await startServer(place);
    const owner = createPerson(server.url);
    await setUpOwner(owner, server);
    const { html } = await openSignedIn(owner, `${server.url}/console`);
    assert.match(html, /<strong>Disk[^<]*: (OK|Needs attention)<\/strong> <span>[\d.]+ of [\d.]+ GB free\./);
  },
});
