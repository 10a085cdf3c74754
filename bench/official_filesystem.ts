/** The official server for files, installed by npm into a directory of its own; it is no dependency of ours. */

const packageName = "@modelcontextprotocol/server-filesystem";
const version = "2026.8.31";
const maxInstallSeconds = 60;

/** The server's program for Node, installed below `directory`; a sentence when it cannot be had here. */
export async function installOfficialFilesystem(
  directory: string,
): Promise<{ readonly program: string } | { readonly missing: string }> {
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(`${directory}/package.json`, JSON.stringify({ private: true, type: "module" }));
  try {
    const { success, stderr } = await new Deno.Command("npm", {
      args: ["install", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact", `${packageName}@${version}`],
      cwd: directory,
      signal: AbortSignal.timeout(maxInstallSeconds * 1_000),
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    if (!success) return { missing: `npm could not install it: ${new TextDecoder().decode(stderr).trim()}` };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { missing: "it needs Node and its npm, which are not here" };
  }
  return { program: `${directory}/node_modules/${packageName}/dist/index.js` };
}
