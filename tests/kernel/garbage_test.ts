/**
 * V8 waits for its own threads while it collects garbage, and such a wait leaves its reason where the reason of a call
 * that failed is asked for. It was seen once in some two million questions for a name that is not there.
 */
import assert from "node:assert/strict";
import { createKernelRoots, type Descriptor, type KernelRoots } from "../../src/lib/kernel/descriptor.ts";
import { type Libc, loadLibc } from "../../src/lib/kernel/libc.ts";
import { whereKernelConfines } from "../fixtures/confining_kernel.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

/** What the waits leave: of linux/futex.h, and of the prctl(2) that names their memory where the kernel cannot. */
const left = { EAGAIN: 11, EINVAL: 22, ETIMEDOUT: 110, EINTR: 4 };

/** What the next questions for a reason get: how many of them, and which number. */
interface Waits {
  number: number;
  times: number;
}

const failing: Readonly<Record<string, { readonly code: string; call(directory: Descriptor): unknown }>> = {
  "open what is not there": { code: "ENOENT", call: (directory) => directory.open("absent", "read") },
  "make what is there": { code: "EEXIST", call: (directory) => directory.makeDirectory("made", 0o700) },
  "create what is there": { code: "EEXIST", call: (directory) => directory.open("file", "create") },
  "remove a file that is not there": { code: "ENOENT", call: (directory) => directory.removeFile("absent") },
  "remove a directory that holds one": { code: "ENOTEMPTY", call: (directory) => directory.removeDirectory("made") },
  "link what is not there": { code: "ENOENT", call: (directory) => directory.link("absent", directory, "new") },
  "rename what is not there": { code: "ENOENT", call: (directory) => directory.rename("absent", directory, "new") },
  "rename to what is there": { code: "EEXIST", call: (directory) => directory.renameNew("file", directory, "made") },
  "read a link that is not there": { code: "ENOENT", call: (directory) => directory.readLink("absent") },
  "read a directory": { code: "EISDIR", call: (directory) => inside(directory, "list", (it) => it.read(one, 0)) },
  "write what is open to read": {
    code: "EBADF",
    call: (directory) => inside(directory, "read", (it) => it.writeNow(one)),
  },
  "list a file": { code: "ENOTDIR", call: (directory) => directory.open("file", "list") },
};
const one = new Uint8Array(1);

/** A test in a directory of its own, where as many of the next questions for a reason as `waits` says get another's. */
function test(name: string, body: (place: { path: string; roots: KernelRoots; waits: Waits }) => void): void {
  Deno.test({
    ...skippedUnless(...whereKernelConfines, name),
    fn() {
      const path = Deno.makeTempDirSync({ prefix: "portcullis-" });
      const libc = loadLibc();
      assert.ok(typeof libc === "object");
      const waits = { number: 0, times: 0 };
      const { roots } = createKernelRoots(withWaits(libc, waits), Deno.build.arch);
      try {
        body({ path, roots, waits });
      } finally {
        Deno.removeSync(path, { recursive: true });
      }
    },
  });
}

test("a call that fails says its own reason, whatever V8 waited for meanwhile", ({ path, roots, waits }) => {
  const root = roots.open(path);
  try {
    root.makeDirectory("made", 0o700);
    Deno.mkdirSync(`${path}/made/inner`);
    Deno.writeTextFileSync(`${path}/file`, "x");
    for (const [name, number] of Object.entries(left)) {
      const wait = (): void => void Object.assign(waits, { number, times: 2 });
      for (const [what, { code, call }] of Object.entries(failing)) {
        wait();
        assert.throws(() => call(root), { name: "KernelError", code }, `${what}, after ${name}`);
        assert.equal(waits.times, 0, what);
      }
      wait();
      assert.equal(root.statusOf("absent"), null, name);
      wait();
      assert.equal(root.tryOpen("absent", "list"), "ENOENT", name);
      wait();
      assert.throws(() => roots.open(`${path}/absent`), { code: "ENOENT" }, name);
      wait();
      assert.equal(roots.statusOf(`${path}/absent`), null, name);
      waits.times = 0;
    }
    assert.throws(() => root.rename("made", root, "made/inner"), { code: "EINVAL" }, "its own reason, that is one too");
  } finally {
    root.close();
  }
});

test("a lock that another holds is not waited for, and is got when it is free", ({ path, roots, waits }) => {
  const root = roots.open(path);
  const [ours, theirs] = [root.open("lock", "create_lock"), root.open("lock", "create_lock")];
  try {
    assert.ok(theirs.tryLock());
    for (const number of Object.values(left)) {
      Object.assign(waits, { number, times: 2 });
      assert.equal(ours.tryLock(), false);
    }
    theirs.unlock();
    assert.equal(ours.tryLock(), true);
  } finally {
    for (const each of [ours, theirs, root]) each.close();
  }
});

function inside<T>(directory: Descriptor, purpose: "list" | "read", use: (opened: Descriptor) => T): T {
  const opened = directory.open(purpose === "list" ? "made" : "file", purpose);
  try {
    return use(opened);
  } finally {
    opened.close();
  }
}

/** The library, where as many of the next questions for a reason as `waits` says get another's. */
function withWaits(libc: Libc, waits: Waits): Libc {
  return {
    ...libc,
    memcpy(target: AllowSharedBufferSource | null, source: Deno.PointerValue, length: bigint) {
      libc.memcpy(target, source, length);
      if (waits.times > 0 && target instanceof Int32Array) {
        waits.times--;
        target[0] = waits.number;
      }
    },
  };
}
