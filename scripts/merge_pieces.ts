/**
 * One piece of a bundle in the place of all that are loaded together anyway. The bundler makes a piece for each set of
 * entries that share it, and Deno looks up, reads and links each file apart.
 */
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { bundledFiles, runBundler } from "./bundler.ts";

/** What is loaded at once. */
export interface Together {
  /** The name of its piece. */
  readonly name: string;
  /** The files whose imports it holds: they stay, and hand on what it exports. */
  readonly entries: readonly (string | RegExp)[];
  /** A file that stays as it is, with all that it imports: it is loaded before, or without it. */
  readonly except: string;
}

/** How the bundler writes them: a test of other forms shows that they are noticed. */
const staticImport = /\bimport(?:\{([^}]*)\}from)?"(\.[^"]*\.js)"(?!\s*with\b);?/g;
const exportList = /export\{([^}]*)\};?\s*$/;

/** Merges pieces of the bundle in `place`. Names are by the order of the imports: the same for the same sources. */
export async function mergePieces(place: string, { name, entries, except }: Together): Promise<void> {
  const texts = new Map<string, string>();
  const directory = await Deno.realPath(place);
  for (const path of await bundledFiles(place)) texts.set(relative(place, path), await Deno.readTextFile(path));
  await requireKnownImports(directory, texts);
  const first = entries.flatMap((entry) => [...texts.keys()].filter((path) => matches(path, entry)));
  const stays = loadedBy([except], texts);
  const merged = [...loadedBy(first, texts)].filter((path) => !stays.has(path));
  const others = [...texts.keys()].filter((path) => !merged.includes(path));
  const outside = (path: string, exported: string): string => `m${merged.indexOf(path)}_${exported}`;
  const exportsOf = (path: string): string[] =>
    namesIn(exportList.exec(texts.get(path) ?? "")?.[1]).map(([, exported]) => exported);
  const piece = `${name}-TOGETHER.js`; // as the bundler names a piece
  const handedOn = merged.map((path) => {
    const names = exportsOf(path).map((each) => `${each} as ${outside(path, each)}`);
    return `${names.length === 0 ? "import" : `export{${names.join()}}from`}"./${path}";\n`;
  });
  await Deno.writeTextFile(join(place, piece), handedOn.join(""));
  const externals = others.flatMap((path) => ["--external", join(directory, path)]);
  await runBundler(["--minify", ...externals, "--outdir", "merged", piece], place);
  const bundled = await Deno.readTextFile(join(place, "merged", piece));
  await Deno.remove(join(place, "merged"), { recursive: true });
  await Deno.writeTextFile(join(place, piece), bundled.replaceAll(`"${directory}/`, '"./'));
  for (const path of merged) {
    if (!first.includes(path)) {
      await Deno.remove(join(place, path));
      continue;
    }
    const names = exportsOf(path).map((each) => `${outside(path, each)} as ${each}`);
    await Deno.writeTextFile(join(place, path), `export{${names.join()}}from"${wayTo(piece, path)}";\n`);
  }
  for (const path of others) {
    const text = texts.get(path) ?? "";
    const rewritten = text.replaceAll(staticImport, (whole, list: string | undefined, target: string) => {
      const imported = join(dirname(path), target);
      if (!merged.includes(imported)) return whole;
      const exported = exportsOf(imported);
      const unknown = namesIn(list).find(([name]) => !exported.includes(name));
      if (unknown !== undefined) throw new Error(`${path} imports ${unknown[0]} of ${imported}: ${changedForm}`);
      const names = namesIn(list).map(([exported, inside]) => `${outside(imported, exported)} as ${inside}`);
      return `import${names.length === 0 ? "" : `{${names.join()}}from`}"${wayTo(piece, path)}";`;
    });
    if (rewritten !== text) await Deno.writeTextFile(join(place, path), rewritten);
  }
}

const changedForm = "the bundler writes its modules in another form by now";

/** Throws where Deno's own parser finds other imports between the pieces than the expressions above. */
async function requireKnownImports(directory: string, texts: ReadonlyMap<string, string>): Promise<void> {
  const whole = join(directory, "all.js");
  await Deno.writeTextFile(
    whole,
    Array.from(texts.keys(), (path) => `import ${JSON.stringify(`./${path}`)};\n`).join(""),
  );
  const args = ["info", "--json", "--no-config", "--no-lock", whole];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: directory }).output();
  await Deno.remove(whole);
  if (!success) throw new Error(`deno info: ${new TextDecoder().decode(stderr)}`);
  const { modules }: ModuleGraph = JSON.parse(new TextDecoder().decode(stdout));
  for (const { specifier, dependencies = [] } of modules) {
    const path = specifier.startsWith("file:") ? relative(directory, fileURLToPath(specifier)) : "";
    const text = texts.get(path);
    if (text === undefined) continue;
    const known = new Set(Array.from(text.matchAll(staticImport), ([, , target]) => target));
    const parsed = dependencies.filter(({ isDynamic, specifier }) => !isDynamic && specifier.startsWith("."));
    const isKnown = parsed.length === known.size && parsed.every(({ specifier }) => known.has(specifier));
    if (!isKnown) throw new Error(`the imports of ${path} are not all known: ${changedForm}`);
  }
}

/** What `deno info` prints. */
interface ModuleGraph {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly { readonly specifier: string; readonly isDynamic?: boolean }[];
  }[];
}

function matches(path: string, entry: string | RegExp): boolean {
  return typeof entry === "string" ? path === entry : entry.test(path);
}

/** `paths` and all that they load at once, in the order of the imports. */
function loadedBy(paths: readonly string[], texts: ReadonlyMap<string, string>): Set<string> {
  const found = new Set(paths);
  for (const path of found) { // grows
    for (const [, , target = ""] of texts.get(path)?.matchAll(staticImport) ?? []) {
      const imported = join(dirname(path), target);
      if (texts.has(imported)) found.add(imported);
    }
  }
  return found;
}

/** Each name of a list of imports or exports, and the one after `as`. */
function namesIn(list = ""): (readonly [string, string])[] {
  return list.split(",").filter((each) => each !== "").map((each) => {
    const [name = "", other = name] = each.split(" as ");
    return [name, other];
  });
}

/** The way from one file of the bundle to another, as a module names it. */
function wayTo(path: string, from: string): string {
  const way = relative(dirname(from), path).replaceAll("\\", "/");
  return way.startsWith(".") ? way : `./${way}`;
}
