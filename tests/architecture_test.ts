/** Holds the map and the rules of docs/architecture.md: which part of src/ may import which, and through which file. */
import assert from "node:assert/strict";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

/** For each part, a folder of src/: the parts it may import, itself and `lib` aside. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  storage: [],
  mcp: ["storage"],
  http: ["mcp", "storage"],
  oauth: ["storage"],
  audit: ["llm", "mcp", "storage"],
  files: ["http", "mcp", "storage"],
  llm: ["files", "mcp"],
  servicenow: ["files", "mcp", "oauth", "storage"],
  console: ["audit", "files", "mcp", "oauth", "storage"],
  app: ["audit", "console", "files", "http", "llm", "mcp", "oauth", "servicenow", "storage"],
  cli: ["app", "audit", "console", "files", "mcp", "oauth", "storage"],
};

/** What others import of a part: its entry, and one more for what is read before the part is loaded, or loaded later. */
const entries = /^src\/\w+\/(mod|later|mod_settings)\.ts$/;

interface Import {
  readonly from: string;
  readonly specifier: string;
}

async function importsOf(path: string): Promise<Import[]> {
  const statements = (await Deno.readTextFile(path)).matchAll(
    /^(?:import|export)\s[^;]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\(\s*"([^"]+)"/gm,
  );
  return Array.from(statements, ([, whole, alone, late]) => ({ from: path, specifier: whole ?? alone ?? late ?? "" }));
}

async function importsBelow(directory: string): Promise<Import[]> {
  const found: Import[] = [];
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) found.push(...await importsBelow(path));
    else if (name.endsWith(".ts")) found.push(...await importsOf(path));
  }
  return found;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const imports = (await importsBelow(`${root}src`)).map(({ from, specifier }) => ({
  from: from.slice(root.length),
  specifier,
}));
const startsWith = (await importsOf(`${root}main.ts`)).map(({ specifier }) => specifier);
const ours = imports.filter(({ specifier }) => specifier.startsWith(".")).map(({ from, specifier }) => ({
  from,
  target: normalize(join(dirname(from), specifier)),
})).filter(({ target }) => target.startsWith("src/"));

function partOf(path: string): string {
  return path.split("/")[1] ?? path;
}

Deno.test("architecture: every part of src/ imports only the parts that docs/architecture.md allows", () => {
  const broken: string[] = [];
  for (const { from, target } of ours) {
    const [part, imported] = [partOf(from), partOf(target)];
    assert.ok(part in mayImport, `${part} is not on the map: add it to docs/architecture.md and to this table`);
    if (part !== imported && imported !== "lib" && !mayImport[part]?.includes(imported)) {
      broken.push(`${from} imports ${target}`);
    }
  }
  assert.deepEqual(broken, []);
  assert.ok(ours.length > 500, "the scan sees the imports");
});

Deno.test("architecture: a part is imported through its mod.ts, its settings by config alone", () => {
  const past = ours.filter(({ from, target }) =>
    partOf(from) !== partOf(target) && partOf(target) !== "lib" && !entries.test(target)
  );
  assert.deepEqual(past, []);
  assert.deepEqual(startsWith, ["./src/cli/mod.ts"]);
  const seconds = [...new Set(ours.map(({ target }) => target))].filter((target) =>
    /(later|mod_settings)\.ts$/.test(target)
  );
  const parts = seconds.map(partOf);
  assert.deepEqual(parts.filter((part, at) => parts.indexOf(part) !== at), [], "a part has one second entry at most");
  const settings = ours.filter(({ from, target }) =>
    target.endsWith("/mod_settings.ts") && partOf(from) !== partOf(target) && !from.startsWith("src/app/")
  );
  assert.deepEqual(settings, []);
});

/** Each arrow between two folders, at full depth and seen from each folder above. */
function folderArrows(depth: number): ReadonlyMap<string, ReadonlySet<string>> {
  const cut = (path: string): string => dirname(path).split("/").slice(0, depth + 1).join("/");
  const arrows = new Map<string, Set<string>>();
  for (const { from, target } of ours) {
    const [a, b] = [cut(from), cut(target)];
    if (a !== b) arrows.set(a, (arrows.get(a) ?? new Set()).add(b));
  }
  return arrows;
}

/** A way of arrows that leads back to where it began, or `null`. */
function circleIn(arrows: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] | null {
  const finished = new Set<string>();
  const follow = (place: string, way: readonly string[]): readonly string[] | null => {
    if (way.includes(place)) return [...way.slice(way.indexOf(place)), place];
    if (finished.has(place)) return null;
    for (const next of arrows.get(place) ?? []) {
      const circle = follow(next, [...way, place]);
      if (circle !== null) return circle;
    }
    finished.add(place);
    return null;
  };
  for (const place of arrows.keys()) {
    const circle = follow(place, []);
    if (circle !== null) return circle;
  }
  return null;
}

Deno.test("architecture: folders form no circle, at any depth, types included", () => {
  assert.deepEqual(circleIn(new Map([["a", new Set(["b"])], ["b", new Set(["c"])], ["c", new Set(["b"])]])), [
    "b",
    "c",
    "b",
  ]);
  for (const depth of [1, 2, 3]) assert.equal(circleIn(folderArrows(depth)), null, `at depth ${depth}`);
  const deep = [...new Set(ours.map(({ from }) => dirname(from)))].filter((folder) => folder.split("/").length > 4);
  assert.deepEqual(deep, [], "a part is at most two folders deep");
});

Deno.test("architecture: only http/ knows Hono, and the two OAuth roles never meet", () => {
  const hono = imports.filter(({ from, specifier }) => specifier.startsWith("@hono/") && partOf(from) !== "http");
  assert.deepEqual(hono, []);
  assert.ok(!mayImport["oauth"]?.includes("http"));
  assert.ok(!mayImport["http"]?.includes("oauth"));
});

/** What the simulated fleet runs; and what in it waits for the world outside, which the simulation does without. */
const simulated =
  /^src\/(?:(?:audit|mcp|oauth|http|lib|console\/(?:connections|live))\/|app\/(?:app|protocol_server)\.ts)/;
const ownTime = new Set([
  "src/lib/time.ts",
  "src/lib/request_text.ts", // bodies that arrive
  "src/lib/turns.ts", // what the thread did, which no simulation can tell
  "src/lib/log.ts", // lines on their way out
  "src/mcp/serve_stdio.ts",
  "src/lib/document_fetcher.ts", // documents on their way in
]);

Deno.test("architecture: what the simulated fleet runs has its clocks and timers passed in", async () => {
  const found: string[] = [];
  for (const path of new Set(imports.map(({ from }) => from))) {
    if (!simulated.test(path) || ownTime.has(path)) continue;
    const source = await Deno.readTextFile(`${root}${path}`);
    const [own] =
      /\b(setTimeout|setInterval|Date\.now|performance\.now|Math\.random|AbortSignal\.timeout)\b(?=\()/.exec(source) ??
        [];
    if (own !== undefined) found.push(`${path}: ${own}`);
  }
  assert.deepEqual(found, []);
});

Deno.test("architecture: the map in docs/architecture.md is what src/ holds", async () => {
  const page = await Deno.readTextFile(`${root}docs/architecture.md`);
  const map = /^src\/\n([^]*?)^tests\//m.exec(page)?.[1] ?? "";
  const drawn = Array.from(map.matchAll(/^ {2}(\S+)/gm), ([, name = ""]) => name);
  const there = Array.from(Deno.readDirSync(`${root}src`), ({ name, isDirectory }) => isDirectory ? `${name}/` : name);
  assert.deepEqual(drawn.sort(), there.sort());
  assert.deepEqual(Object.keys(mayImport).map((part) => `${part}/`).sort(), there.sort());
});

Deno.test("architecture: docs/architecture.md justifies every package that deno.json imports, and no other", async () => {
  const page = await Deno.readTextFile(`${root}docs/architecture.md`);
  const table = /^## Run-time dependencies\n([^]*?)^## /m.exec(page)?.[1] ?? "";
  const justified = Array.from(table.matchAll(/^\| `([^`]+)` *\| *(.+?) *\|$/gm));
  for (const [, name, why = ""] of justified) assert.ok(why.length > 40, `${name}: ${why}`);
  const { imports: specifiers }: { imports: Record<string, string> } = JSON.parse(
    await Deno.readTextFile(`${root}deno.json`),
  );
  const packages = Object.values(specifiers).map((specifier) => /^npm:(.+)@[^@]+$/.exec(specifier)?.[1] ?? specifier);
  assert.deepEqual(justified.map(([, name]) => name).sort(), packages.sort());
});
