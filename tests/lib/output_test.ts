import assert from "node:assert/strict";
import { createOutput } from "../../src/lib/log.ts";

/** Takes a few bytes at a time, or throws what the script says next. */
function scriptedSink(script: (Error | number)[]): { write(bytes: Uint8Array): Promise<number>; text(): string } {
  let text = "";
  return {
    write(bytes) {
      const next = script.shift() ?? bytes.byteLength;
      if (typeof next !== "number") return Promise.reject(next);
      const taken = bytes.subarray(0, next);
      text += new TextDecoder().decode(taken);
      return Promise.resolve(taken.byteLength);
    },
    text: () => text,
  };
}

Deno.test("output is whole and in order, also where the sink takes it in pieces or asks to come back", async () => {
  const sink = scriptedSink([3, new Deno.errors.WouldBlock("later"), 2, new Deno.errors.Interrupted("signal")]);
  const output = createOutput(sink);
  const written = [output.write("one two\n"), output.write("three\n")];
  await output.flush();
  assert.deepEqual(await Promise.all(written), [true, true]);
  assert.equal(sink.text(), "one two\nthree\n");
  assert.equal(output.state, "well");
});

Deno.test("output that fails is dropped, and what follows is written", async () => {
  const sink = scriptedSink([3, new Error("No space left on device")]);
  const output = createOutput(sink);
  assert.equal(await output.write("one two\n"), false);
  assert.equal(output.state, "failed");
  assert.equal(await output.write("three\n"), true);
  assert.equal(sink.text(), "onethree\n");
});

Deno.test("when the reader has left, nothing more is tried", async () => {
  const sink = scriptedSink([new Deno.errors.BrokenPipe("gone")]);
  const output = createOutput(sink);
  assert.deepEqual([await output.write("one\n"), await output.write("two\n")], [false, false]);
  assert.equal(output.state, "gone");
  assert.equal(sink.text(), "");
});
