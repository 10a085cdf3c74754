/** Uses every operation of a disk workspace once, and prints what each gave; run with permissions for it alone. */
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import type { WorkspacePath } from "../../src/files/workspace/path.ts";

const [root] = Deno.args;
if (root === undefined) throw new Error("usage: exercise_workspace.ts ROOT");
const workspace = openDiskWorkspace({ root });
const at = (text: string): WorkspacePath => ({ text, segments: text === "" ? [] : text.split("/") });
const bytes = new TextEncoder().encode("text");
const outcomes = {
  write: await workspace.write(at("d/a"), bytes),
  append: await workspace.write(at("d/a"), bytes, { mode: "append" }),
  create: await workspace.write(at("d/b"), bytes, { mode: "create" }),
  read: await workspace.read(at("d/a")),
  stat: await workspace.stat(at("d")),
  list: await workspace.list(at("d"), { details: true }),
  copy: await workspace.copy(at("d/a"), at("e")),
  move: await workspace.move(at("e"), at("f")),
  makeDirectory: await workspace.makeDirectory(at("g/h")),
  remove: await workspace.remove(at("f")),
  removeTree: await workspace.remove(at("d"), { recursive: true }),
};
await workspace.close();
const toWord = (outcome: (typeof outcomes)[keyof typeof outcomes]): string =>
  outcome.ok ? "ok" : outcome.error.reason === "denied" ? outcome.error.because : outcome.error.reason;
const words = Object.entries(outcomes).map(([name, outcome]) => `${name}: ${toWord(outcome)}\n`);
Deno.stdout.writeSync(new TextEncoder().encode(words.join("")));
