/** The peers of a benchmark, installed by npm into a directory that lasts as long as it runs. */
import process from "node:process";

/** Whether the packages are there to be measured; says why, where they are not. */
export async function installPeers(
  directory: string,
  packages: readonly string[],
  maxSeconds: number,
): Promise<boolean> {
  await Deno.writeTextFile(`${directory}/package.json`, JSON.stringify({ private: true, type: "module" }));
  try {
    const { success, stderr } = await new Deno.Command("npm", {
      args: ["install", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact", ...packages],
      cwd: directory,
      signal: AbortSignal.timeout(maxSeconds * 1_000),
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    if (!success) print(`without peers: npm could not install them: ${new TextDecoder().decode(stderr).trim()}\n`);
    return success;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    print("without peers: they need Node and its npm, which are not here\n");
    return false;
  }
}

function print(text: string): void {
  process.stdout.write(text);
}
