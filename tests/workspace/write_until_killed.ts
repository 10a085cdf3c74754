/**
 * Changes the workspace given as argument until it is killed: writers of all kinds at once, so that a kill meets several
 * of them in the midst of their work. What is done is acknowledged on standard output, at once.
 */
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import type { WorkspacePath } from "../../src/files/workspace/path.ts";
import type { Outcome } from "../../src/files/workspace/port.ts";

const [root, size = ""] = Deno.args;
if (root === undefined) throw new Error("usage: write_until_killed.ts ROOT SIZE");
const workspace = openDiskWorkspace({ root });
const encoder = new TextEncoder();
const at = (text: string): WorkspacePath => ({ text, segments: text.split("/") });
const tell = (line: string): void => void Deno.stdout.writeSync(encoder.encode(`${line}\n`));

function done(outcome: Outcome<unknown>): void {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.error));
}

async function overwrite(round: number): Promise<void> {
  done(await workspace.write(at("file.txt"), encoder.encode("AB".charAt(round % 2).repeat(Number(size)))));
}

async function append(round: number): Promise<void> {
  done(await workspace.write(at("log"), encoder.encode(`${round}\n`), { mode: "append" }));
  tell(`log ${round}`);
}

async function create(round: number): Promise<void> {
  const content = encoder.encode("n".repeat(Number(size)));
  done(await workspace.write(at(`new/${round % 20}`), content, { mode: "create" }));
  tell(`new ${round % 20}`);
  if (round % 20 === 19) await clear(["new"]);
}

async function rearrange(): Promise<void> {
  done(await workspace.makeDirectory(at("t/x/y")));
  done(await workspace.write(at("t/x/y/f"), encoder.encode("whole")));
  tell("tree made");
  done(await workspace.move(at("t"), at("u")));
  done(await workspace.copy(at("u/x/y/f"), at("copy"), { overwrite: true }));
  tell("tree going");
  done(await workspace.remove(at("u"), { recursive: true }));
}

async function clear(names: readonly string[]): Promise<void> {
  for (const name of names) {
    tell(`${name} cleared`);
    const removed = await workspace.remove(at(name), { recursive: true });
    if (!removed.ok && removed.error.reason !== "not_found") done(removed);
  }
}

await clear(["log", "new", "t", "u", "copy"]);
await overwrite(0);
tell("writing");
await Promise.all([overwrite, append, create, rearrange].map(async (change) => {
  for (let round = 0;; round++) await change(round);
}));
