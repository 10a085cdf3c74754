/** What holds for every file of src/: exports have readers, imports run one way, folders and files stay small. */
import assert from "node:assert/strict";
import { dirname, join, normalize } from "node:path";
import { sourceFiles } from "./fixtures/source_files.ts";

const maxLinesOfFile = 800;

/** Exported for readers outside the repository. */
const unreadExports: ReadonlyMap<string, string> = new Map();

const src = sourceFiles("src");
const everything = new Map([
  ...sourceFiles("src", "tests", "bench", "scripts"),
  ["main.ts", await Deno.readTextFile(new URL("../main.ts", import.meta.url))],
]);

interface Import {
  readonly target: string;
  /** The names that are imported; `null` for all. */
  readonly names: readonly string[] | null;
}

function importsOf(file: string): Import[] {
  const text = everything.get(file) ?? "";
  const found: Import[] = [];
  const add = (specifier: string, names: string | undefined): void => {
    const target = normalize(join(dirname(file), specifier));
    const list = names?.split(",").map((name) => name.trim().replace(/^type /, "").split(/\s+as\s+|\s*:/)[0] ?? "");
    if (src.has(target)) found.push({ target, names: list ?? null });
  };
  for (
    const [, names, space, specifier = ""] of text.matchAll(
      /^(?:import|export)\s+(?:type\s+)?(?:\{([^}]*)\}|\* as (\w+)|[^"';]*?)\s*(?:from\s+)?"(\.[^"]+)"/gm,
    )
  ) add(specifier, space === undefined ? names : membersRead(text, space));
  const waited = new Set<string>();
  for (
    const [, names, specifier = ""] of text.matchAll(
      /\{([^{}]*)\}\s*=\s*await\s+import\(\s*"(\.[^"]+)"\)(?!\s*\.then)/g,
    )
  ) {
    waited.add(specifier);
    add(specifier, names);
  }
  for (const [, specifier = ""] of text.matchAll(/\bimport\(\s*"(\.[^"]+)"/g)) {
    if (!waited.has(specifier)) add(specifier, undefined);
  }
  return found;
}

/** What is read of a namespace, such as `chains.maxChains`, with commas between. */
function membersRead(text: string, space: string): string {
  const reads = text.matchAll(new RegExp(`(?<!\\w|(?<!\\.)\\.)${space}\\.(\\w+)`, "g"));
  return Array.from(reads, ([, name = ""]) => name).join(",");
}

/** Groups of files that reach each other by imports (Tarjan's strongly connected components). */
function cyclesAmong(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const [order, lowest] = [new Map<string, number>(), new Map<string, number>()];
  const [open, cycles]: [string[], string[][]] = [[], []];
  const visit = (file: string): number => {
    const own = order.size;
    order.set(file, own);
    lowest.set(file, own);
    open.push(file);
    for (const next of edges.get(file) ?? []) {
      const reached = !order.has(next) ? visit(next) : open.includes(next) ? order.get(next) ?? own : own;
      lowest.set(file, Math.min(lowest.get(file) ?? own, reached));
    }
    if (lowest.get(file) === own) {
      const members = open.splice(open.indexOf(file));
      if (members.length > 1) cycles.push(members);
    }
    return lowest.get(file) ?? own;
  };
  for (const file of edges.keys()) if (!order.has(file)) visit(file);
  return cycles;
}

/** The one file of a part that hands on what others import of it. */
const entry = /^src\/\w+\/(mod|later)\.ts$/;

function namesHandedOn(text: string): string[] {
  return Array.from(
    text.matchAll(/^export (?:type )?\{([^}]*)\} from/gm),
    ([, names = ""]) => names.split(",").map((name) => name.trim().replace(/^type /, "")).filter((name) => name !== ""),
  ).flat();
}

Deno.test("source rules: every export of src/ is imported by another file", () => {
  const read = new Set<string>();
  for (const file of everything.keys()) {
    for (const { target, names } of importsOf(file)) {
      // of an entry that is loaded whole, a reader has what it names
      const all = entry.test(target) ? everything.get(file)?.match(/\w+/g) ?? [] : ["*"];
      for (const name of names ?? all) read.add(`${target} ${name}`);
    }
  }
  const declaration =
    /^export (?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)|^export (?:type )?[{*]/gm;
  const unread: string[] = [];
  let exported = 0;
  for (const [file, text] of src) {
    if (entry.test(file)) {
      for (const name of namesHandedOn(text)) {
        if (!read.has(`${file} ${name}`)) unread.push(`${file}: ${name}`);
      }
    }
    for (const [whole, name] of text.matchAll(declaration)) {
      if (name === undefined && entry.test(file)) continue;
      assert.ok(name !== undefined, `${file}: ${whole} exports another file's names`);
      exported += 1;
      if (!read.has(`${file} ${name}`) && !read.has(`${file} *`) && !unreadExports.has(`${file} ${name}`)) {
        unread.push(`${file}: ${name}`);
      }
    }
  }
  assert.deepEqual(unread, []);
  assert.ok(exported > 500, "the scan sees the exports");
});

Deno.test("source rules: imports form no cycle, those of types included", () => {
  assert.deepEqual(cyclesAmong(new Map([["a", ["b"]], ["b", ["c"]], ["c", ["b"]], ["d", ["d"]]])), [["b", "c"]]);
  const edges = new Map(Array.from(src.keys(), (file) => [file, importsOf(file).map(({ target }) => target)] as const));
  assert.ok([...edges.values()].flat().length > 1_000, "the scan sees the imports");
  assert.deepEqual(cyclesAmong(edges), []);
});

/** Files of others, and of an example. */
const foreignFiles: readonly string[] = ["ext/http/00_serve.ts", "src/a.ts"];

Deno.test("source rules: comments name only files that are there", () => {
  const known = [...foreignFiles, ...everything.keys()].map((file) => `/${file}`);
  const missing: string[] = [];
  let named = 0;
  for (const [file, text] of src) {
    for (const [comment] of text.matchAll(/^ *(?:\/\/|\/?\*).*$/gm)) {
      for (const [, name] of comment.matchAll(/(?<![\w*./-])([a-z]\w*(?:\/\w+)*\.ts)\b/g)) {
        named += 1;
        if (!known.some((path) => path.endsWith(`/${name}`))) missing.push(`${file}: ${name}`);
      }
    }
  }
  assert.deepEqual(missing, []);
  assert.ok(named > 20, `${named} files are named`);
});

Deno.test("source rules: no file has more than 800 lines, and src/ itself holds folders", () => {
  const long = [...src].filter(([, text]) => text.split("\n").length - 1 > maxLinesOfFile).map(([file]) => file);
  assert.deepEqual(long, []);
  const direct = Array.from(src.keys()).filter((file) => dirname(file) === "src");
  assert.ok(direct.length <= 3, "src/ itself has at most three files");
});

Deno.test("source rules: zod is imported as a namespace, which leaves its unused parts out of the bundle", () => {
  const whole = [...src].filter(([, text]) => /^import (?!(?:type )?\* as z ).*"zod";/m.test(text)).map(([file]) =>
    file
  );
  assert.deepEqual(whole, []);
});

Deno.test("source rules: paths are made of addresses by fileURLToPath(), which a blank in the path needs", () => {
  const encoded = [...everything].filter(([, text]) => /import\.meta\.url\)+\.pathname/.test(text)).map(([file]) =>
    file
  );
  assert.deepEqual(encoded, []);
});
