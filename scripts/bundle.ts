/**
 * Bundles the program into a directory, the same bytes for the same sources wherever it runs: the program itself, its
 * commands, the module of the server's worker, and the pieces of all, which are loaded when they are used. The commit is
 * written into one of them. Uncommitted changes leave the commit out: such a file is no commit's.
 */
import { dirname, join, relative } from "node:path";

/** The root of the repository. */
export const root: string = new URL("..", import.meta.url).pathname;
const commitStamp = "@PORTCULLIS_COMMIT@";
const rootStamp = "@PORTCULLIS_ROOT@";

/** What is bundled; pieces are shared.
 * The first is the program; it loads the others by their place: lib/program/program_module.ts. */
const entries: readonly [string, ...string[]] = [
  "main.ts",
  "src/cli/run_command.ts",
  "src/composition/workers/server_worker.ts",
  ...Array.from(Deno.readDirSync(join(root, "src/cli/commands")), ({ name }) => `src/cli/commands/${name}`).sort(),
];

const toScript = (entry: string): string => entry.replace(/ts$/, "js");
const pieceName = /\b(\w+)-[A-Z0-9]{8}\.js\b/g;

/** Where the program lies in a bundle. */
export const programName: string = toScript(entries[0]);
/** Where the modules lie that it loads by their place. */
export const namedModules: readonly string[] = entries.slice(1).map(toScript);

/** Writes the bundle of the sources below `directory` into `output`, a directory of its own. */
export async function bundleProgram(output: string, commit: string | null, directory = root): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--frozen", "--platform", "deno", "--minify", "--code-splitting"],
      ...["--outdir", output, ...entries],
    ],
    cwd: directory,
    stdout: "null",
  }).output();
  if (!success) throw new Error(`deno bundle: ${new TextDecoder().decode(stderr)}`);
  const numbers = await numberPieces(output);
  const stamps = new Map([[commitStamp, 0], [rootStamp, 0]]);
  for (const path of await bundledFiles(output)) {
    const text = await Deno.readTextFile(path);
    for (const [stamp, count] of stamps) stamps.set(stamp, count + text.split(stamp).length - 1);
    await Deno.remove(path);
    await Deno.writeTextFile(
      path.replace(pieceName, (name) => numbers.get(name) ?? name),
      text.replace(commitStamp, commit ?? "").replaceAll(rootStamp, rootFrom(path, output))
        .replaceAll(pieceName, (name) => numbers.get(name) ?? name),
    );
  }
  if ([...stamps.values()].some((count) => count !== 1)) {
    throw new Error("the bundle does not hold each stamp exactly once");
  }
}

/** The way from a file of the bundle to its root, as a module names it. */
function rootFrom(path: string, output: string): string {
  return `./${relative(dirname(path), output)}/`.replaceAll(/\\/g, "/").replace("//", "/");
}

/**
 * New names for the pieces, by the order in which the program mentions them: the bundler's own end in a hash that
 * depends on where the packages lie on this machine.
 */
async function numberPieces(output: string): Promise<ReadonlyMap<string, string>> {
  const numbers = new Map<string, string>();
  const texts = await Promise.all(entries.map((entry) => Deno.readTextFile(join(output, toScript(entry)))));
  for (const text of texts) { // grows as pieces are found
    for (const [name, subject = ""] of text.matchAll(pieceName)) {
      if (numbers.has(name)) continue;
      numbers.set(name, `${subject}-${numbers.size + 1}.js`);
      texts.push(await Deno.readTextFile(join(output, name)));
    }
  }
  return numbers;
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
  await bundleProgram(Deno.args[0] ?? join(root, "dist", "bundle"), await commitOfSources());
}
