/** The tasks that serve files permit the C library by its paths, and no other library. */
import assert from "node:assert/strict";
import manifest from "../../deno.json" with { type: "json" };
import { libraryFlag } from "../../src/lib/start_flags.ts";

Deno.test("the tasks that start the server or examine it permit the C library, by its paths alone", () => {
  for (const task of ["dev", "start", "doctor"] as const) {
    const flags = manifest.tasks[task].split(" ").filter((word) => word.startsWith("--allow-ffi"));
    assert.deepEqual(flags, [libraryFlag], task);
  }
});

Deno.test("no other task permits a library", () => {
  const permitting = Object.entries(manifest.tasks).filter(([, command]) => command.includes("--allow-ffi"));
  assert.deepEqual(permitting.map(([name]) => name).sort(), ["dev", "doctor", "start"]);
});
