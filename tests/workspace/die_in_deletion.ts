/** Deletes `f` of the workspace ROOT, waits with it for the end of its input, and dies before the deletion is done. */
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";

const workspace = openDiskWorkspace({ root: Deno.args[0] ?? "" });
const { renameSync } = Deno;
Deno.renameSync = (from, to) => {
  Deno.stdout.writeSync(new TextEncoder().encode("ready"));
  while (Deno.stdin.readSync(new Uint8Array(1)) !== null);
  renameSync(from, to);
  Deno.kill(Deno.pid, "SIGKILL");
};
await workspace.remove({ text: "f", segments: ["f"] });
