/** Each call through the binding does, and says, what the system's own programs do and say of it. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { Descriptor } from "../../src/lib/kernel/descriptor.ts";
import { loadKernel } from "../../src/lib/kernel/kernel.ts";
import { whereKernelConfines } from "../fixtures/confining_kernel.ts";
import { ownMounts, withMounts } from "../fixtures/own_mounts.ts";
import { hasProgram, skippedUnless, succeeds } from "../fixtures/skipped_unless.ts";

const kernel = loadKernel();
/** Layers of two file systems: overlayfs tells them apart by the highest bits (xino). */
const overlayScript = `mount -t tmpfs none /mnt; cd /mnt; mkdir low up merged; mount -t tmpfs none low;
  mount -t tmpfs none up; mkdir up/u up/w; touch low/a low/b low/c low/d;
  mount -t overlay overlay -o lowerdir=low,upperdir=up/u,workdir=up/w,xino=on merged`;
const [command = "false", ...args] = withMounts(overlayScript);
const hasOverlay = kernel.available && ownMounts !== null && succeeds(command, [...args, "true"]);
const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const fails = (call: () => unknown, code: string): void => void assert.throws(call, { name: "KernelError", code });

test("an entry's status is what stat(1) says of it", async (root, path) => {
  Deno.writeTextFileSync(`${path}/file`, "x".repeat(12_345));
  Deno.linkSync(`${path}/file`, `${path}/second`);
  Deno.utimeSync(`${path}/file`, 1_700_000_000.25, 1_600_000_000.75);
  Deno.chmodSync(`${path}/file`, 0o640);
  Deno.symlinkSync("file", `${path}/link`);
  Deno.mkdirSync(`${path}/directory`);
  for (const name of ["file", "link", "directory"]) {
    const status = root.statusOf(name);
    assert.ok(status);
    const told = await run("stat", "-c", "%s %i %h %u %g %f %.3Y %.3Z %.3W", `${path}/${name}`);
    const [size, inode, links, uid, gid, mode, ...times] = told.trim().split(" ");
    const { mtime, ctime, birthtime } = status;
    assert.deepEqual([`${status.size}`, `${status.ino}`, `${status.nlink}`, `${status.uid}`, `${status.gid}`], [
      size,
      inode,
      links,
      uid,
      gid,
    ]);
    assert.equal(status.mode.toString(16), mode);
    assert.deepEqual([mtime, ctime, birthtime].map((time) => time.getTime()), times.map((time) => Number(time) * 1000));
    const { isFile, isDirectory, isSymlink } = Deno.lstatSync(`${path}/${name}`);
    assert.deepEqual([status.isFile, status.isDirectory, status.isSymlink], [isFile, isDirectory, isSymlink]);
  }
  assert.equal(root.statusOf("absent"), null);
});

Deno.test({
  ...skippedUnless(hasOverlay, "overlayfs cannot be mounted here", "inodes that no number tells apart stay apart"),
  async fn() {
    const program = fileURLToPath(new URL("print_inodes.ts", import.meta.url));
    const [command = "", ...args] = withMounts(overlayScript);
    const { stdout, stderr } = await new Deno.Command(command, {
      args: [...args, Deno.execPath(), "run", "-A", "--no-check", program, "/mnt/merged"],
    }).output();
    const [ours, told] = new TextDecoder().decode(stdout).trim().split("\n");
    assert.equal(ours, told, new TextDecoder().decode(stderr));
    const inodes = ours?.split(" ") ?? [];
    assert.equal(new Set(inodes).size, 4);
    assert.ok(inodes.every((inode) => BigInt(inode) > 2n ** 53n), ours);
  },
});

test(
  "a file is created, written, read, renamed, linked, locked and removed as the system has it",
  async (root, path) => {
    const file = root.open("new", "create");
    fails(() => root.open("new", "create"), "EEXIST");
    const large = new Uint8Array(300_000).map((_, index) => index % 251);
    await file.write(bytes("head"));
    await file.write(large);
    await file.flush();
    file.setMode(0o604);
    file.close();
    fails(() => file.status(), "EBADF");
    assert.deepEqual(Deno.readFileSync(`${path}/new`), new Uint8Array([...bytes("head"), ...large]));
    assert.equal((Deno.statSync(`${path}/new`).mode ?? 0) & 0o777, 0o604);
    const opened = root.open("new", "read");
    const buffer = new Uint8Array(4);
    assert.deepEqual([opened.read(buffer, 2), [...buffer]], [4, [...bytes("ad"), 0, 1]]);
    assert.deepEqual([await opened.readLater(buffer, 300_002), [...buffer.subarray(0, 2)]], [2, [
      ...large.subarray(-2),
    ]]);
    assert.equal(opened.read(buffer, 400_000), 0);
    const lock = root.open("new", "lock");
    assert.equal(lock.tryLock(), true);
    assert.equal(opened.tryLock(), false);
    lock.unlock();
    assert.equal(opened.tryLock(), true);
    lock.close();
    opened.close();
    root.makeDirectory("directory", 0o750);
    fails(() => root.makeDirectory("directory", 0o750), "EEXIST");
    const directory = root.open("directory", "directory");
    root.link("new", directory, "linked");
    root.renameNew("new", directory, "moved");
    fails(() => directory.renameNew("moved", directory, "linked"), "EEXIST");
    directory.rename("moved", directory, "renamed");
    assert.deepEqual(namesIn(`${path}/directory`), ["linked", "renamed"]);
    fails(() => root.removeDirectory("directory"), "ENOTEMPTY");
    for (const name of ["linked", "renamed"]) directory.removeFile(name);
    directory.close();
    root.removeDirectory("directory");
    assert.deepEqual(namesIn(path), []);
  },
);

test("a directory's entries are those of ls, whatever their bytes and however many", async (root, path) => {
  await run("sh", "-c", `cd '${path}' && seq -f 'entry-%05g' 5000 | xargs touch && printf 'x' > "$(printf 'a\\377b')"`);
  Deno.mkdirSync(`${path}/ü`);
  Deno.symlinkSync("nowhere", `${path}/link`);
  const listing = root.open(".", "list");
  const found: { readonly name: string; readonly kind: string }[] = [];
  for (let batch; (batch = listing.readEntries()).length > 0;) found.push(...batch);
  listing.close();
  assert.deepEqual(found.map(({ name }) => name.replace("\udcff", "\ufffd")).sort(), namesIn(path));
  const kindOf = (name: string): string | undefined => found.find((each) => each.name === name)?.kind;
  assert.deepEqual([kindOf("entry-00001"), kindOf("ü"), kindOf("link")], ["file", "directory", "link"]);
  assert.equal(root.readLink("link"), "nowhere");
  fails(() => root.readLink("ü"), "EINVAL");
});

test("names that are not UTF-8 are told apart, and reached by the text of their listing alone", async (root, path) => {
  const stored = ["a\\351", "a\\350", "a\\357\\277\\275", "a\\303", "a\\303\\251", "\\357\\273\\277a"];
  const makeAll = stored.map((name, index) => `printf ${index} > "$(printf '${name}')"`).join(" && ");
  await run("sh", "-c", `cd '${path}' && ${makeAll}`);
  const texts = ["a\udce9", "a\udce8", "a\ufffd", "a\udcc3", "aé", "\ufeffa"];
  const listing = root.open(".", "list");
  assert.deepEqual(new Set(listing.readEntries().map(({ name }) => name)), new Set(texts));
  listing.close();
  for (const [index, name] of texts.entries()) {
    const file = root.open(name, "read");
    const buffer = new Uint8Array(2);
    assert.deepEqual([file.read(buffer, 0), buffer[0]], [1, 0x30 + index], JSON.stringify(name));
    file.close();
  }
  // other texts of the bytes of `aé`, and halves that stand for no byte: they reach nothing
  for (const other of ["a\udcc3\udca9", "a\ud800", "a\udc2f", "a\udfff"]) {
    fails(() => root.open(other, "read"), "ENOENT");
    fails(() => root.removeFile(other), "ENOENT");
    fails(() => root.makeDirectory(other, 0o700), "ENOENT");
  }
  root.rename("a\udce9", root, "b\udce9");
  root.removeFile("a\udce8");
  assert.equal(root.statusOf("a\udce9"), null);
  assert.equal(root.statusOf("a\udce8"), null);
  assert.equal(root.statusOf("b\udce9")?.size, 1);
});

test("nothing outside is opened: by dots, from the root, through links, magic links or mounts", async (root, path) => {
  Deno.mkdirSync(`${path}/d`);
  Deno.symlinkSync("/etc", `${path}/out`);
  Deno.symlinkSync("d", `${path}/in`);
  const inner = root.open("d", "directory");
  for (const purpose of ["path", "directory", "read", "list", "create", "lock"] as const) {
    assert.equal(inner.tryOpen("../d", purpose), "EXDEV");
    assert.equal(inner.tryOpen("/etc/passwd", purpose), "EXDEV");
    for (const link of ["out/passwd", "in/x"]) assert.equal(root.tryOpen(link, purpose), "ELOOP");
  }
  inner.close();
  const proc = kernelRoots().open("/proc/self");
  assert.match(String(proc.tryOpen("root/etc/passwd", "read")), /^E/);
  proc.close();
  const top = kernelRoots().open("/");
  assert.equal(top.tryOpen("proc/self", "directory"), "EXDEV", "another mount");
  top.close();
  for (const name of ["", ".", "..", "a/b", "a\0b"]) {
    fails(() => root.makeDirectory(name, 0o777), "EINVAL");
    fails(() => root.statusOf(name), "EINVAL");
  }
  fails(() => root.open("a\0b", "read"), "EINVAL");
  fails(() => root.open("x".repeat(5_000), "read"), "ENAMETOOLONG");
  await Promise.resolve();
});

test("a descriptor is not made from a number, nor taken from another class", (root) => {
  const make = root.constructor as new (...args: unknown[]) => Descriptor;
  for (const args of [[], [-100], [Symbol(), 3]]) assert.throws(() => new make(...args), TypeError);
  const fake = Object.create(Object.getPrototypeOf(root));
  assert.throws(() => fake.open("etc/passwd", "read"), TypeError);
  fails(() => root.rename("x", fake, "y"), "EBADF");
  assert.deepEqual(Object.keys(root), []);
});

test(
  "a name that is no text is refused: its toString() could put another path in the place of one that was judged",
  (root, path) => {
    Deno.mkdirSync(`${path}/d`);
    Deno.writeTextFileSync(`${path}/outside`, "stays");
    Deno.writeTextFileSync(`${path}/d/own`, "x");
    const inner = root.open("d", "directory");
    const acting = {
      toString() {
        inner.tryOpen("../outside", "read"); // leaves its path in the buffer of the first name
        return "taken";
      },
    } as unknown as string;
    fails(() => inner.rename("own", inner, acting), "EINVAL");
    for (const wrong of [acting, 1, null, ["own"], new String("own")] as string[]) {
      fails(() => inner.statusOf(wrong), "EINVAL");
      fails(() => inner.tryOpen(wrong, "read"), "EINVAL");
      fails(() => inner.removeFile(wrong), "EINVAL");
    }
    assert.equal(Deno.readTextFileSync(`${path}/outside`), "stays");
    assert.deepEqual(Array.from(Deno.readDirSync(`${path}/d`), ({ name }) => name), ["own"]);
    inner.close();
  },
);

test("code that replaces the language's own methods, or lies about a buffer, gets nothing more", (root, path) => {
  Deno.mkdirSync(`${path}/d`);
  const inner = root.open("d", "directory");
  const anywhere = BigUint64Array.of(0x80000n, 0n, 0n); // O_CLOEXEC, and no restriction of where a path leads
  const { includes } = String.prototype;
  try {
    Object.defineProperty(Object.prototype, "anything", { value: anywhere, configurable: true });
    String.prototype.includes = () => false;
    assert.throws(() => inner.tryOpen("/etc/passwd", "anything" as "read"));
    for (const name of ["../d", "/etc/passwd"]) fails(() => inner.statusOf(name), "EINVAL");
  } finally {
    String.prototype.includes = includes;
    Reflect.deleteProperty(Object.prototype, "anything");
  }
  Deno.writeTextFileSync(`${path}/f`, "0123456789");
  const file = root.open("f", "read");
  const whole = new Uint8Array(8);
  const part = whole.subarray(0, 4);
  Object.defineProperty(part, "byteLength", { value: 8 });
  assert.equal(file.read(part, 0), 4);
  assert.deepEqual([...whole.subarray(4)], [0, 0, 0, 0]);
  file.close();
  inner.close();
});

Deno.test({
  ...skippedUnless(
    kernel.available && hasProgram("strace"),
    "there is no strace, or no openat2",
    "strace(1) sees the same calls: each open is beneath, without links, magic links and other mounts",
  ),
  async fn() {
    const directory = await Deno.makeTempDir();
    await Deno.writeTextFile(`${directory}/f`, "text");
    try {
      const program = fileURLToPath(new URL("read_once.ts", import.meta.url));
      const child = ["run", "-A", "--no-check", program, directory];
      const trace = await run("strace", "-f", "-qq", "-e", "trace=openat2,renameat2", Deno.execPath(), ...child);
      const opens = trace.split("\n").filter((line) => line.includes('"f"') && line.includes("openat2("));
      assert.ok(opens.length > 0, trace);
      for (const line of opens) {
        assert.match(line, /O_NOFOLLOW/);
        assert.match(line, /O_CLOEXEC/);
        for (const how of ["NO_XDEV", "NO_MAGICLINKS", "NO_SYMLINKS", "BENEATH"]) {
          assert.ok(line.includes(`RESOLVE_${how}`));
        }
      }
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});

Deno.test({
  ...skippedUnless(
    ...whereKernelConfines,
    "a want of descriptors does not pass for a system without openat2: files would be confined less from then on",
  ),
  async fn() {
    const program = fileURLToPath(new URL("load_when_full.ts", import.meta.url));
    const command = ["-c", 'ulimit -n 80 && exec "$@"', "sh", Deno.execPath(), "run", "-A", "--no-check", program];
    assert.match(await run("sh", ...command), /KernelError: .*EMFILE/);
  },
});

function test(name: string, body: (root: Descriptor, path: string) => unknown): void {
  Deno.test({
    ...skippedUnless(...whereKernelConfines, name),
    async fn() {
      const path = await Deno.realPath(await Deno.makeTempDir());
      const root = kernelRoots().open(path);
      try {
        await body(root, path);
      } finally {
        root.close();
        await Deno.remove(path, { recursive: true });
      }
    },
  });
}

function kernelRoots() {
  assert.ok(kernel.available);
  return kernel.roots;
}

function namesIn(path: string): string[] {
  return Array.from(Deno.readDirSync(path), ({ name }) => name).sort();
}

/** What a program prints, on either stream. */
async function run(command: string, ...args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args: [...args] }).output();
  const printed = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.ok(success, printed);
  return printed;
}
