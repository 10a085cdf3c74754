/** Deno's bundler, and the files that it writes. */
import { join } from "node:path";

/** Runs it in a directory; throws with what it says where it fails. */
export async function runBundler(args: readonly string[], directory: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform", "deno", ...args],
    cwd: directory,
    stdout: "null",
  }).output();
  if (!success) throw new Error(`deno bundle: ${new TextDecoder().decode(stderr)}`);
}

/** All files of a bundle. */
export async function bundledFiles(directory: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = join(directory, name);
    paths.push(...isDirectory ? await bundledFiles(path) : [path]);
  }
  return paths.sort();
}
