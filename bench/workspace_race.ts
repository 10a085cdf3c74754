/**
 * How often a local process that keeps swapping a directory for a link gets bytes from outside through a read, or a
 * file outside through a write: `deno run -A bench/workspace_race.ts [SECONDS]`. The portable checks make this rare, not
 * impossible (`caps.raceFree` is false); this prints the measured share beside that of a read without checks.
 */
import process from "node:process";
import { openDiskWorkspace } from "../src/workspace/disk_workspace.ts";
import { parseFilePath } from "../src/workspace/path.ts";

const seconds = Number(Deno.args[0] ?? 5);
const swapper = `
import { renameSync, rmSync } from "node:fs";
const [root] = Deno.args;
const move = (from, to) => {
  for (;;) {
    try {
      return renameSync(root + "/" + from, root + "/" + to);
    } catch {
      try { // a write made the directory that was missing
        rmSync(root + "/" + to, { recursive: true, force: true });
      } catch { /* and is at work in it */ }
    }
  }
};
for (;;) {
  move("d", "real"); move("link", "d");
  move("d", "link"); move("real", "d");
}`;

const base = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "portcullis-race-" }));
const root = `${base}/ws`;
for (const directory of ["ws", "ws/d", "outside"]) Deno.mkdirSync(`${base}/${directory}`);
Deno.writeTextFileSync(`${root}/d/f`, "inside");
Deno.writeTextFileSync(`${base}/outside/f`, "SECRET");
Deno.symlinkSync("../outside", `${root}/link`);
Deno.writeTextFileSync(`${base}/swap.ts`, swapper);
const child = new Deno.Command(Deno.execPath(), { args: ["run", "-A", "--no-check", `${base}/swap.ts`, root] }).spawn();
const workspace = openDiskWorkspace({ root });
const [read, write] = [parseFilePath("d/f"), parseFilePath("d/w")];
if (!read.ok || !write.ok) throw new Error("unreachable");
try {
  await new Promise((resolve) => setTimeout(resolve, 300));
  await measure("plain Deno.readTextFileSync", () => readPlainly());
  await measure("workspace.read", async () => {
    const content = await workspace.read(read.value);
    return content.ok ? new TextDecoder().decode(content.value.bytes) : "refused";
  });
  await measure("workspace.write", async () => {
    const written = await workspace.write(write.value, new Uint8Array(10));
    const escaped = isThere(`${base}/outside/w`);
    if (escaped) Deno.removeSync(`${base}/outside/w`);
    return escaped ? "SECRET" : written.ok ? "inside" : "refused";
  });
} finally {
  child.kill("SIGKILL");
  await child.status;
  await workspace.close();
  Deno.removeSync(base, { recursive: true });
}

async function measure(what: string, attempt: () => string | Promise<string>): Promise<void> {
  const counts = new Map<string, number>();
  let total = 0;
  for (const end = performance.now() + seconds * 1000; performance.now() < end; total++) {
    const result = await attempt();
    counts.set(result, (counts.get(result) ?? 0) + 1);
  }
  const share = (name: string): string => `${((counts.get(name) ?? 0) / total * 100).toFixed(3)} %`;
  process.stdout.write(`${what}: ${total} tries, escaped ${share("SECRET")}, inside ${share("inside")}\n`);
}

function readPlainly(): string {
  try {
    return Deno.readTextFileSync(`${root}/d/f`);
  } catch {
    return "refused"; // caught between two renames
  }
}

function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false; // nothing escaped
  }
}
