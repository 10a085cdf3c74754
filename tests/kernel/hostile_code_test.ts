/** Code of the same isolate, such as a broken tool, that replaces the language's methods to lead a call elsewhere. */
import assert from "node:assert/strict";
import type { Descriptor } from "../../src/lib/kernel/descriptor.ts";
import { loadKernel } from "../../src/lib/kernel/kernel.ts";
import { whereKernelConfines } from "../fixtures/confining_kernel.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { until } from "../fixtures/until.ts";

const kernel = loadKernel();
const stray = "\udcff"; // half a pair: a byte that is not UTF-8, of which a name is made byte by byte

/** What the conversion of a name could call. */
const replaceable: readonly (readonly [object: object, method: PropertyKey])[] = [
  [String.prototype, Symbol.iterator],
  [String.prototype, "charCodeAt"],
  [String.prototype, "codePointAt"],
  [String.prototype, "isWellFormed"],
  [Array.prototype, Symbol.iterator],
  [Array.prototype, "push"],
  [Uint8Array, "from"],
  [Object.getPrototypeOf(Uint8Array.prototype), "subarray"],
  [Object.getPrototypeOf(Uint8Array.prototype), "set"],
  [TextEncoder.prototype, "encode"],
  [TextEncoder.prototype, "encodeInto"],
  [Function.prototype, "call"],
  [Function.prototype, "bind"],
  [Reflect, "apply"],
];

for (const operation of ["link", "rename", "renameNew"] as const) {
  test(
    `${operation}() of two names: code that runs in between puts no other path in the place of one`,
    (root, path) => {
      Deno.mkdirSync(`${path}/d`);
      for (const name of ["outside", "d/own"]) Deno.writeTextFileSync(`${path}/${name}`, name);
      const inner = root.open("d", "directory");
      const lookOutside = () => {
        const { ino, nlink } = Deno.statSync(`${path}/outside`);
        return { ino, nlink };
      };
      const before = lookOutside();
      for (const [object, method] of replaceable) {
        const original = Reflect.get(object, method);
        const replace = (value: unknown): unknown =>
          Reflect.defineProperty(object, method, { value, configurable: true, writable: true });
        const act = function (this: unknown, ...args: unknown[]): unknown {
          replace(original);
          inner.tryOpen("../outside", "read"); // leaves its path where the first name was
          return original.apply(this, args);
        };
        replace(act);
        try {
          inner[operation]("own", inner, `taken${stray}`);
        } catch {
          // an entry of that name is there already, or is not there
        } finally {
          replace(original);
        }
        assert.deepEqual(lookOutside(), before, String(method));
      }
      inner.close();
    },
  );
}

test(
  "a file that is closed while another thread writes it leaves its number to no other file before that ends",
  async (root, path) => {
    const content = new Uint8Array(1_000_000).fill(1);
    for (let round = 0; round < 30; round++) {
      const file = root.open(`file-${round}`, "create");
      const written = file.write(content);
      file.close();
      file.close();
      assert.throws(() => file.status(), { code: "EBADF" });
      const other = Deno.openSync(`${path}/other-${round}`, { create: true, write: true });
      await written.catch(() => {}); // not all of it was written, where the close came between two parts
      other.close();
      assert.equal(Deno.statSync(`${path}/other-${round}`).size, 0);
    }
  },
);

test("code that replaces promises does not end the wait for another thread early", async (root, path) => {
  const content = new Uint8Array(1_000_000).fill(1);
  const { then } = Promise.prototype;
  for (let round = 0; round < 30; round++) {
    const file = root.open(`file-${round}`, "create");
    try {
      Promise.prototype.then = function (onFulfilled) {
        onFulfilled?.(content.byteLength);
        return this as Promise<never>;
      };
      Object.defineProperty(Promise.prototype, "constructor", { value: class {}, configurable: true, writable: true });
      void file.write(content);
    } finally {
      Promise.prototype.then = then;
      Object.defineProperty(Promise.prototype, "constructor", { value: Promise, configurable: true, writable: true });
    }
    file.close();
    const other = Deno.openSync(`${path}/other-${round}`, { create: true, write: true });
    const sizeOf = (name: string): number => Deno.statSync(`${path}/${name}-${round}`).size;
    await until("the write", () => sizeOf("file") + sizeOf("other") === content.byteLength);
    other.close();
    assert.equal(sizeOf("other"), 0);
  }
});

test("a position or a purpose that is an object does not close a file on the way to a call", (root, path) => {
  Deno.writeTextFileSync(`${path}/f`, "text");
  const file = root.open("f", "read");
  const closing = {
    valueOf: () => (file.close(), 0),
    toString: () => (file.close(), "read"),
  } as unknown;
  assert.throws(() => file.read(new Uint8Array(4), closing as number), { code: "EINVAL" });
  for (const position of [-1, NaN, 2 ** 53, 2 ** 64, -Infinity]) {
    assert.throws(() => file.read(new Uint8Array(4), position), { code: "EINVAL" });
  }
  assert.throws(() => file.tryOpen("x", closing as "read"), { code: "EBADF" });
});

test("what other code can import of the binding are functions, and tables that nothing can change", async () => {
  for (const { name } of Deno.readDirSync(new URL("../../src/lib/kernel", import.meta.url))) {
    const exported: Record<string, unknown> = await import(`../../src/lib/kernel/${name}`);
    for (const [what, value] of Object.entries(exported)) {
      const isTable = typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
      if (isTable) { for (const each of [value, ...Object.values(value)]) assert.ok(Object.isFrozen(each), what); }
    }
  }
});

test(
  "the watch of a place learns of a file only that it has gone: not whether it is there, and not what it is",
  (_root, path) => {
    assert.ok(kernel.available);
    Deno.writeTextFileSync(`${path}/secret`, "x");
    const guesses = ["secret", "absent", "secret/below", "absent/below"].map((name) => `${path}/${name}`);
    const isSame = guesses.map((guess) => kernel.watchPlace(guess));
    const look = (): boolean[] => isSame.map((ask) => ask());
    assert.deepEqual(look(), [true, true, true, true]);
    Deno.writeTextFileSync(`${path}/secret`, "changed");
    Deno.writeTextFileSync(`${path}/absent`, "");
    assert.deepEqual(look(), [true, true, true, true]);
    Deno.renameSync(`${path}/absent`, `${path}/secret`);
    assert.deepEqual(look(), [false, true, true, true]);
  },
);

test("the watch of commits learns of a file only that its first bytes changed, and of no other file", (_root, path) => {
  assert.ok(kernel.available);
  Deno.writeTextFileSync(`${path}/secret`, "x");
  assert.throws(() => kernel.watchCommits(`${path}/secret`), { code: "ENOENT" });
  Deno.writeTextFileSync(`${path}/empty-shm`, "");
  assert.throws(() => kernel.watchCommits(`${path}/empty`), { code: "EINVAL" });
  Deno.writeTextFileSync(`${path}/database-shm`, "x".repeat(100));
  const look = kernel.watchCommits(`${path}/database`);
  assert.deepEqual([look(), look()], [true, false]);
  Deno.writeTextFileSync(`${path}/database-shm`, "y".repeat(100));
  assert.deepEqual([look(), look()], [true, false]);
  const open = Array.from(Deno.readDirSync("/proc/self/fd"), ({ name }) => linkOf(name));
  assert.deepEqual(open.filter((each) => each === path), [path], "the test's own descriptor of the directory");
});

/** What a descriptor of this process leads to. */
function linkOf(number: string): string {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${number}`);
  } catch {
    return ""; // the listing itself
  }
}

function test(name: string, body: (root: Descriptor, path: string) => unknown): void {
  Deno.test({
    ...skippedUnless(...whereKernelConfines, name),
    sanitizeOps: false,
    async fn() {
      assert.ok(kernel.available);
      const path = await Deno.realPath(await Deno.makeTempDir());
      const root = kernel.roots.open(path);
      try {
        await body(root, path);
      } finally {
        root.close();
        await Deno.remove(path, { recursive: true });
      }
    },
  });
}

test("nothing that is handed out leads to a number, or to a class whose methods can be replaced", (root, path) => {
  assert.ok(kernel.available);
  Deno.writeTextFileSync(`${path}/f`, "x");
  const file = root.open("f", "read");
  const refused = (): unknown => {
    try {
      return root.open("none", "read");
    } catch (error) {
      return error;
    }
  };
  const own = new Set<unknown>([Object, Function, Error, Object.prototype, Function.prototype, Error.prototype, null]);
  const looked = new Set<object>();
  const look = (value: unknown, words: string, mustBeFrozen: boolean): void => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null || own.has(value)) return;
    if (looked.has(value) || value instanceof Date) return;
    looked.add(value);
    if (mustBeFrozen) assert.ok(Object.isFrozen(value), `${words} can be changed`);
    for (const key of Reflect.ownKeys(value)) {
      assert.doesNotMatch(String(key), /number/i, `${words}.${String(key)}`);
      const member = Reflect.getOwnPropertyDescriptor(value, key);
      if (key === "constructor" || key === "prototype") look(member?.value, `${words}.${key}`, true);
    }
    look(Reflect.getPrototypeOf(value), `the prototype of ${words}`, true);
  };
  look(kernel, "the kernel", true);
  look(kernel.roots, "its roots", true);
  for (const [words, value] of Object.entries({ root, file, status: file.status(), error: refused() })) {
    look(value, words, false);
  }
  const before = Reflect.get(file, "read");
  Reflect.set(Reflect.getPrototypeOf(file) ?? {}, "read", () => 0);
  assert.equal(Reflect.get(file, "read"), before);
  file.close();
});
