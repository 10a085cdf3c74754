/** What the binding takes for granted of Deno: code that gives a buffer away frees no memory under a call on another thread. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { libraryPaths } from "../../src/lib/start_flags.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

const library = Deno.build.os === "linux" ? libraryPaths.find((path) => existsSync(path)) : undefined;
const bufferBytes = 60_000;
const rounds = 20; // memory that is freed mostly is another buffer's at once

const addressOf = (bytes: Uint8Array<ArrayBuffer>): unknown => Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes));

/** Whether, of many buffers made now, one is where another was. */
function isTakenOver(address: unknown): boolean {
  return Array.from({ length: 100 }, () => new Uint8Array(bufferBytes)).some((other) => addressOf(other) === address);
}

Deno.test({
  ...skippedUnless(
    library !== undefined,
    "there is no glibc where it is looked for",
    "Deno keeps the memory of a buffer until a call on another thread ends, though code gives the buffer away",
  ),
  async fn() {
    const libc = Deno.dlopen(library ?? "", {
      pipe: { parameters: ["buffer"], result: "i32" },
      read: { parameters: ["i32", "buffer", "usize"], result: "i32", nonblocking: true },
      write: { parameters: ["i32", "buffer", "usize"], result: "i32" },
      close: { parameters: ["i32"], result: "i32" },
    });
    const { pipe, read, write, close } = libc.symbols;
    let unused = 0;
    for (let round = 0; round < rounds; round++) {
      const ends = new Int32Array(2);
      assert.equal(pipe(ends), 0);
      const [from = -1, to = -1] = ends;
      const given = new Uint8Array(bufferBytes);
      const reading = read(from, given, BigInt(bufferBytes)); // waits for what is written below
      const address = addressOf(given);
      given.buffer.transfer(0);
      assert.ok(!isTakenOver(address));
      assert.equal(write(to, Uint8Array.of(1), 1n), 1);
      assert.equal(await reading, 1);
      for (const end of ends) close(end);

      const free = new Uint8Array(bufferBytes);
      const freeAddress = addressOf(free);
      free.buffer.transfer(0);
      if (isTakenOver(freeAddress)) unused++;
    }
    assert.ok(unused > 0, "memory that no call uses is given to others, or this shows nothing");
    libc.close();
  },
});
