/** Code of the same isolate, such as a broken tool, that replaces the language's methods to lead a call elsewhere. */
import assert from "node:assert/strict";
import type { Descriptor } from "../../src/kernel/descriptor.ts";
import { loadKernel } from "../../src/kernel/kernel.ts";
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

for (const operation of ["link", "rename", "renameNew", "exchange"] as const) {
  test(
    `${operation}() of two names: code that runs in between puts no other path in the place of one`,
    (root, path) => {
      Deno.mkdirSync(`${path}/d`);
      for (const name of ["outside", "d/own"]) Deno.writeTextFileSync(`${path}/${name}`, name);
      const inner = root.open("d", "directory");
      if (operation === "exchange") inner.open(`taken${stray}`, "create").close();
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

test("the watch for commits learns of no file but the one that SQLite keeps beside a database", (_root, path) => {
  assert.ok(kernel.available);
  Deno.writeTextFileSync(`${path}/secret`, "x");
  const { watchCommits } = kernel;
  assert.throws(() => watchCommits(`${path}/secret\0`), { code: "EINVAL" });
});

function test(name: string, body: (root: Descriptor, path: string) => unknown): void {
  Deno.test({
    name,
    ignore: !kernel.available,
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
