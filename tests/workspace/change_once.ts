/** Makes one change in a workspace, and says how many steps it took: killed on the way, as {@link ./killing_fs.ts} says. */
import { changeCount } from "./killing_fs.ts";
import { killingKernel } from "./killing_kernel.ts";
import { refuseLinks } from "./replaceable_kernel.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import type { WorkspacePath } from "../../src/files/workspace/path.ts";

const [root, what, mode, trash] = Deno.args;
const kernel = mode === "kernel" ? killingKernel() : undefined;
if (trash === "unlinkable") refuseLinks();
if (root === undefined) throw new Error("usage: change_once.ts ROOT CHANGE MODE [trash|unlinkable]");
const workspace = openDiskWorkspace({
  root,
  kernel,
  ...trash === undefined ? {} : { trash: { keepMs: 60_000_000, maxBytes: 100_000_000 } },
});
const at = (text: string): WorkspacePath => ({ text, segments: text.split("/") });
const bytes = new TextEncoder().encode("new!".repeat(1000));
const changes = {
  overwrite: () => workspace.write(at("d/f"), bytes),
  receive: () => workspace.receive(at("d/f"), pieces()),
  append: () => workspace.write(at("d/f"), bytes, { mode: "append" }),
  create: () => workspace.write(at("d/e/new"), bytes, { mode: "create" }),
  copy: () => workspace.copy(at("d/f"), at("g"), { overwrite: true }),
  move: () => workspace.move(at("d/f"), at("g"), { overwrite: true }),
  move_directory: () => workspace.move(at("d"), at("h/i")),
  remove: () => workspace.remove(at("d/f")),
  remove_tree: () => workspace.remove(at("d"), { recursive: true }),
  make_directory: () => workspace.makeDirectory(at("d/i/j")),
};
async function* pieces(): AsyncGenerator<Uint8Array> {
  for (const part of [bytes.subarray(0, 1_000), bytes.subarray(1_000)]) yield await Promise.resolve(part);
}
const change = Object.entries(changes).find(([name]) => name === what)?.[1];
if (change === undefined) throw new Error(`no change ${what}`);
const outcome = await change();
if (!outcome.ok) throw new Error(JSON.stringify(outcome.error));
await workspace.close();
Deno.stdout.writeSync(new TextEncoder().encode(`${changeCount()}\n`));
