/**
 * Bundles the program into a directory, the same bytes for the same sources wherever it runs: the program itself, its
 * commands, the module of the server's worker, and the pieces of all, which are loaded when they are used. The commit is
 * written into one of them.
 */
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundledFiles, runBundler } from "./bundler.ts";
import { mergePieces, type Together } from "./merge_pieces.ts";

/** The root of the repository. */
export const root: string = fileURLToPath(new URL("..", import.meta.url));
/** What of the sources a bundle replaces: by the commit, and by the way from a file to the root. */
export const commitStamp = "@PORTCULLIS_COMMIT@";
export const rootStamp = "@PORTCULLIS_ROOT@";

/** What of the program is loaded by its place; see lib/program.ts. */
const commandEntries: readonly string[] = [
  "src/cli/run_command.ts",
  ...Array.from(Deno.readDirSync(join(root, "src/cli")), ({ name }) => `src/cli/${name}`)
    .filter((path) => path.endsWith("_command.ts") && path !== "src/cli/run_command.ts").sort(),
];
const workerEntry = "src/app/server_worker.ts";
const documentEntries = ["src/files/documents/holder.ts", "src/files/documents/thread.ts"];

/** What is bundled together, and shares pieces. The worker has its own: what commands share with it would cut it smaller. */
const parts: readonly Part[] = [
  {
    directory: ".",
    entries: ["main.ts", ...commandEntries],
    together: [{ name: "serve", entries: ["src/cli/run_command.js", "src/cli/serve_command.js"], except: "main.js" }],
  },
  {
    directory: dirname(workerEntry),
    entries: [workerEntry],
    together: [{ name: "server", entries: [/^run_in_worker-/], except: "server_worker.js" }],
  },
  // all that the thread which reads documents may load, in one directory
  { directory: "src/files/documents", entries: documentEntries, together: [] },
];

interface Part {
  /** Where it lies in the bundle. */
  readonly directory: string;
  readonly entries: readonly string[];
  /** What a start loads of it at once. */
  readonly together: readonly Together[];
}

const toScript = (entry: string): string => entry.replace(/ts$/, "js");
const pieceName = /\b(\w+)-[A-Z0-9]{8}\.js\b/g;
const isPiece = /^\w+-[A-Z0-9]{8}\.js$/;

/** Where the program lies in a bundle. */
export const programName = "main.js";
/** Where the modules lie that it loads by their place. */
export const namedModules: readonly string[] = [...commandEntries, workerEntry, ...documentEntries].map(toScript);

/** Writes the bundle of the sources below `directory` into `into`, a new or empty directory. */
export async function bundleProgram(into: string, commit: string | null, directory = root): Promise<void> {
  const output = resolve(into); // the bundler runs in another directory
  await Deno.mkdir(output, { recursive: true });
  for await (const { name } of Deno.readDir(output)) {
    throw new Error(`${output} is not empty (${name}): name a new directory for the bundle`);
  }
  const stamps = new Map([[commitStamp, 0], [rootStamp, 0]]);
  for (const part of parts) {
    const place = join(output, part.directory);
    await runBundler(["--frozen", "--minify", "--code-splitting", "--outdir", place, ...part.entries], directory);
    for (const together of part.together) await mergePieces(place, together);
    const numbers = await numberPieces(part, place);
    const renumbered = (text: string): string => text.replaceAll(pieceName, (name) => numbers.get(name) ?? name);
    for (const path of await bundledFiles(place)) {
      const text = await Deno.readTextFile(path);
      for (const [stamp, count] of stamps) stamps.set(stamp, count + text.split(stamp).length - 1);
      await Deno.remove(path);
      const isLeft = isPiece.test(basename(path)) && !numbers.has(basename(path));
      if (isLeft) continue; // its one import was left out as unused
      const stamped = text.replace(commitStamp, commit ?? "").replace(rootStamp, rootFrom(path, output));
      await Deno.writeTextFile(renumbered(path), renumbered(stamped));
    }
  }
  if (stamps.values().some((count) => count !== 2)) {
    throw new Error("the commands and the worker have to hold the commit's place and the root's once each");
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
async function numberPieces({ directory, entries }: Part, place: string): Promise<ReadonlyMap<string, string>> {
  const numbers = new Map<string, string>();
  const isOneDirectory = entries.every((entry) => dirname(entry) === directory); // Deno leaves out what all begin with
  const scripts = entries.map((entry) => isOneDirectory ? basename(entry) : entry).map(toScript);
  const texts = await Promise.all(scripts.map((script) => Deno.readTextFile(join(place, script))));
  for (const text of texts) { // grows as pieces are found
    for (const [name, subject = ""] of text.matchAll(pieceName)) {
      if (numbers.has(name)) continue;
      numbers.set(name, `${subject}-${numbers.size + 1}.js`);
      texts.push(await Deno.readTextFile(join(place, name)));
    }
  }
  return numbers;
}

/** The commit that is checked out, with a digest of what was changed since; what PORTCULLIS_COMMIT says where there is no repository. */
export async function commitOfSources(): Promise<string | null> {
  const given = Deno.env.get("PORTCULLIS_COMMIT");
  if (given) return /^[0-9a-f]{7,40}$/.test(given) ? given.slice(0, 12) : null;
  const commit = await git(["rev-parse", "--short=12", "HEAD"]);
  const sources = ["main.ts", "deno.json", "deno.lock", "src"];
  const changes = await git(["diff", "--no-ext-diff", "--binary", "HEAD", "--", ...sources]);
  if (commit === null || changes === null || changes === "") return commit;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(changes)));
  return `${commit}, changed: ${digest.toHex().slice(0, 12)}`;
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
  const ours = join(root, "dist", "bundle");
  if (Deno.args[0] === undefined) await Deno.remove(ours, { recursive: true }).catch(() => {}); // the last one
  await bundleProgram(Deno.args[0] ?? ours, await commitOfSources());
}
