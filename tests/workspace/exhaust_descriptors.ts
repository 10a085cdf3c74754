/**
 * Tries each operation of a disk workspace with few descriptors left, from none to more than it takes, and prints what
 * went wrong: something that stayed open or in the staging directory, an exception, or a later attempt that fails.
 */
import process from "node:process";
import { loadKernel } from "../../src/lib/kernel/kernel.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import type { WorkspacePath } from "../../src/files/workspace/path.ts";
import type { Outcome, Workspace } from "../../src/files/workspace/port.ts";

const mostFree = 9;
const kernel = loadKernel();
const roots = Deno.args[0] === "kernel" && kernel.available ? kernel.roots : undefined;
const base = Deno.realPathSync(Deno.makeTempDirSync());
const root = `${base}/ws`;
const bytes = new TextEncoder().encode("new");
const author = { subject: "owner", clientId: "client", grantId: "grant", tool: "file_write" };
const at = (text: string): WorkspacePath => ({ text, segments: text.split("/") });
const open = (): Workspace => openDiskWorkspace({ root, kernel: roots, trash: { keepMs: 1e9, maxBytes: 1e9 } });

const operations: Readonly<Record<string, (workspace: Workspace) => unknown>> = {
  read: (workspace) => workspace.read(at("link/f")),
  list: (workspace) => workspace.list(at("a"), { details: true }),
  write: (workspace) => workspace.write(at("a/b/f"), bytes),
  "write anew": (workspace) => workspace.write(at("a/x/y/n"), bytes),
  append: (workspace) => workspace.write(at("a/b/f"), bytes, { mode: "append" }),
  receive: (workspace) => workspace.receive(at("a/b/f"), pieces()),
  copy: (workspace) => workspace.copy(at("a/b/f"), at("c"), { overwrite: true }),
  move: (workspace) => workspace.move(at("a/b/f"), at("a/m"), { overwrite: true }),
  remove: (workspace) => workspace.remove(at("a"), { recursive: true }),
  "make a directory": (workspace) => workspace.makeDirectory(at("q/r/s")),
};

async function* pieces(): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

// first with all of them: the runtime itself opens some when it handles signals or fills in stacks for the first time
Deno.addSignalListener("SIGUSR2", () => {});
void new Error("a stack").stack;
for (let free = -1; free <= mostFree; free++) {
  for (const [name, operation] of Object.entries(operations)) await attempt(name, operation, free);
}
Deno.removeSync(base, { recursive: true });
process.exit();

async function attempt(name: string, operation: (workspace: Workspace) => unknown, free: number): Promise<void> {
  Deno.mkdirSync(`${root}/a/b`, { recursive: true });
  Deno.writeTextFileSync(`${root}/a/b/f`, "old");
  Deno.symlinkSync("a/b", `${root}/link`);
  const workspace = open();
  const others = free < 0 ? [] : takeDescriptors();
  for (let count = 0; count < free; count++) others.pop()?.close();
  const first = await outcomeOf(() => operation(workspace.begin(author)));
  for (const file of others) file.close();
  const kept = openBelow(root).filter((path) => !/\.(portcullis|lock)$/.test(path));
  const second = await outcomeOf(() => operation(workspace.begin(author)));
  const staged = Array.from(readStaging(), ({ name }) => name).filter((each) => !/\.lock$|^trash$/.test(each));
  await workspace.close();
  const left = openBelow(root);
  const isSound = !first.startsWith("threw") && !second.startsWith("threw") && !second.includes("io");
  if (!isSound || [...kept, ...staged, ...left].length > 0) {
    process.stdout.write(`${JSON.stringify({ name, free, first, second, kept, staged, left })}\n`);
  }
  Deno.removeSync(root, { recursive: true });
}

function takeDescriptors(): Deno.FsFile[] {
  const files: Deno.FsFile[] = [];
  try {
    for (;;) files.push(Deno.openSync("/dev/null"));
  } catch {
    return files; // the limit is reached
  }
}

async function outcomeOf(run: () => unknown): Promise<string> {
  try {
    const outcome = await run() as Outcome<unknown>;
    return outcome.ok ? "done" : JSON.stringify(outcome.error);
  } catch (error) {
    return `threw ${error}`;
  }
}

function readStaging(): Iterable<Deno.DirEntry> {
  try {
    return [...Deno.readDirSync(`${root}/.portcullis`)];
  } catch {
    return []; // nothing was written
  }
}

/** What this process has open below a directory. */
function openBelow(directory: string): string[] {
  const numbers = Array.from(Deno.readDirSync("/proc/self/fd"), ({ name }) => name);
  return numbers.map(linkOf).filter((path) => path.startsWith(`${directory}/`));
}

function linkOf(number: string): string {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${number}`);
  } catch {
    return ""; // the listing itself
  }
}
