/** A process that has too many files open: operations are refused, and nothing stays open or locked. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { diskModes } from "./disk_modes.ts";
import { onLinux, skippedUnless } from "../fixtures/skipped_unless.ts";

const program = fileURLToPath(new URL("exhaust_descriptors.ts", import.meta.url));
const limit = "80";

for (const { name: mode } of diskModes) {
  Deno.test({
    ...skippedUnless(...onLinux, `${mode}: an operation that runs out of descriptors leaves nothing open or locked`),
    async fn() {
      const { stdout, stderr } = await new Deno.Command("sh", {
        args: [
          "-c",
          `ulimit -n ${limit} && exec "$@"`,
          "sh",
          Deno.execPath(),
          "run",
          "-A",
          "--no-check",
          program,
          mode,
        ],
      }).output();
      assert.equal(new TextDecoder().decode(stdout), "", new TextDecoder().decode(stderr));
      assert.equal(new TextDecoder().decode(stderr).includes("panicked"), false);
    },
  });
}
