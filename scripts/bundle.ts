/**
 * Bundles the program into one file, the same bytes for the same sources wherever it runs, with the commit written into
 * it. Uncommitted changes leave the commit out: such a file is no commit's.
 */
import { dirname, join } from "node:path";

/** The root of the repository. */
export const root: string = new URL("..", import.meta.url).pathname;
const stamp = "@PORTCULLIS_COMMIT@";

/** Writes the bundle of the sources below `directory` to `output`. */
export async function bundleProgram(output: string, commit: string | null, directory = root): Promise<void> {
  await Deno.mkdir(dirname(output), { recursive: true });
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--frozen", "--platform", "deno", "--minify", "--output", output, "main.ts"],
    cwd: directory,
    stdout: "null",
  }).output();
  if (!success) throw new Error(`deno bundle: ${new TextDecoder().decode(stderr)}`);
  const text = await Deno.readTextFile(output);
  if (text.split(stamp).length !== 2) throw new Error("the bundle does not hold the place of the commit exactly once");
  await Deno.writeTextFile(output, text.replace(stamp, commit ?? ""));
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
