/**
 * Bundles the program into two files, the same bytes for the same sources wherever it runs: the program itself, with the
 * commit written into it, and beside it the module of the server's worker. Uncommitted changes leave the commit out:
 * such a file is no commit's.
 */
import { dirname, join } from "node:path";

/** The root of the repository. */
export const root: string = new URL("..", import.meta.url).pathname;
const stamp = "@PORTCULLIS_COMMIT@";

/** The name under which the program looks for its worker, in its own directory (src/sandbox/server_worker_url.ts). */
export const workerName = "server_worker.js";

/** Writes the bundles of the sources below `directory`: the program to `output`, its worker beside it. */
export async function bundleProgram(output: string, commit: string | null, directory = root): Promise<void> {
  await Deno.mkdir(dirname(output), { recursive: true });
  await bundle("main.ts", output, directory);
  await bundle("src/sandbox/server_worker.ts", join(dirname(output), workerName), directory);
  const text = await Deno.readTextFile(output);
  if (text.split(stamp).length !== 2) throw new Error("the bundle does not hold the place of the commit exactly once");
  await Deno.writeTextFile(output, text.replace(stamp, commit ?? ""));
}

async function bundle(entry: string, output: string, directory: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--frozen", "--platform", "deno", "--minify", "--output", output, entry],
    cwd: directory,
    stdout: "null",
  }).output();
  if (!success) throw new Error(`deno bundle: ${new TextDecoder().decode(stderr)}`);
}

/** The commit that is checked out, or what PORTCULLIS_COMMIT says where there is no repository; `null` when it would be a lie. */
export async function commitOfSources(): Promise<string | null> {
  const given = Deno.env.get("PORTCULLIS_COMMIT");
  if (given) return /^[0-9a-f]{7,40}$/.test(given) ? given.slice(0, 12) : null;
  const status = await git(["status", "--porcelain", "--untracked-files=no"]);
  return status === "" ? await git(["rev-parse", "--short=12", "HEAD"]) : null;
}

async function git(args: readonly string[]): Promise<string | null> {
  try {
    const { success, stdout } = await new Deno.Command("git", { args: [...args], cwd: root, stderr: "null" }).output();
    return success ? new TextDecoder().decode(stdout).trim() : null;
  } catch {
    return null; // no git on this machine
  }
}

if (import.meta.main) {
  await bundleProgram(Deno.args[0] ?? join(root, "dist", "portcullis.js"), await commitOfSources());
}
