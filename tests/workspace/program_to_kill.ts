/** The programs that tests kill some hundred times, each as one file: that starts in two thirds of the processor time. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runBundler } from "../../scripts/bundler.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/**
 * A program of this directory: what starts it, before its own arguments. It is bundled as the sources have it, not made
 * smaller, into a directory that is gone when the process ends.
 */
export async function programToKill(name: string): Promise<readonly string[]> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-kill-" });
  addEventListener("unload", () => Deno.removeSync(directory, { recursive: true }));
  const program = join(directory, "program.js");
  // without a configuration there is less to start
  const imports = `--import-map=${join(here, "bare_programs.json")}`;
  await runBundler(["--no-config", "--no-lock", imports, "--output", program, join(here, name)], here);
  return ["run", "-A", "--no-check", "--no-config", "--no-lock", program];
}
