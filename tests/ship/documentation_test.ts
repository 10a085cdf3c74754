/** The documentation against the program: links lead somewhere, settings, commands, tasks and files that it names exist. */
import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import { dirname, join, normalize } from "node:path";
import { root } from "../../scripts/bundle.ts";
import { settings } from "../../src/app/config/settings.ts";
import { everyTool } from "../fixtures/every_tool.ts";
import { runCommand } from "../fixtures/running_server.ts";

const pages = [
  ...["README.md", "SECURITY.md", "CONTRIBUTING.md"],
  ...Array.from(Deno.readDirSync(`${root}docs`), ({ name }) => `docs/${name}`).filter((name) => name.endsWith(".md")),
];
const texts = new Map(
  await Promise.all(
    pages.map(async (page) => [page, await Deno.readTextFile(`${root}${page}`)] as const),
  ),
);

Deno.test("documentation: every link to a file leads to one", async () => {
  const broken: string[] = [];
  let links = 0;
  for (const [page, text] of texts) {
    for (const [, target = ""] of text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      links += 1;
      const path = normalize(join(dirname(page), target));
      if (!await Deno.stat(`${root}${path}`).catch(() => null)) broken.push(`${page}: ${target}`);
    }
  }
  assert.deepEqual(broken, []);
  assert.ok(links > 10);
});

Deno.test("documentation: every link to a heading leads to one", () => {
  const anchorsOf = (text: string): ReadonlySet<string> =>
    new Set(
      Array.from(text.matchAll(/^#+ +(.+)$/gm), ([, heading = ""]) =>
        heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")),
    );
  const broken: string[] = [];
  let links = 0;
  for (const [page, text] of texts) {
    for (const [, target = "", anchor = ""] of text.matchAll(/\]\(([^)#\s:]*)#([^)\s]+)\)/g)) {
      const to = texts.get(target === "" ? page : normalize(join(dirname(page), target)));
      links += 1;
      if (to === undefined || !anchorsOf(to).has(anchor)) broken.push(`${page}: ${target}#${anchor}`);
    }
  }
  assert.deepEqual(broken, []);
  assert.ok(links > 5, String(links));
});

Deno.test("documentation: every picture is there, in light and dark, small, and described", async () => {
  const pages = [...texts].map(([page, text]) =>
    page === "README.md" ? text : text.replaceAll('="pictures/', '="docs/pictures/')
  );
  const named = pages.flatMap((text) =>
    Array.from(text.matchAll(/(?:srcset|src)="([^"]+)"/g), ([, path = ""]) => path)
  );
  assert.deepEqual(named.filter((path) => path.includes("dark")).length * 2, named.length);
  for (const path of named) assert.ok((await Deno.stat(`${root}${path}`)).size < 60_000, path);
  const kept = Array.from(Deno.readDirSync(`${root}docs/pictures`), ({ name }) => `docs/pictures/${name}`);
  assert.deepEqual(named.toSorted(), kept.toSorted());
  for (const text of pages) {
    for (const [image] of text.matchAll(/<img\b[^>]*>/g)) assert.match(image, /alt="[^"]{20,}"/);
  }
});

Deno.test("documentation: every task that it names is in deno.json, every file of ours is there", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${root}deno.json`));
  for (const [page, text] of texts) {
    for (const [, task = ""] of text.matchAll(/deno(?:@[\d.]+)? task (?:-q )?([a-z][\w:-]*)/g)) {
      assert.ok(task in tasks, `${page}: deno task ${task}`);
    }
    for (const [, path = ""] of text.matchAll(/\b((?:src|tests|scripts|bench)\/[\w/]+\.(?:ts|sh))\b/g)) {
      if (path.includes("word_count")) continue; // the example of docs/tools.md
      assert.ok(await Deno.stat(`${root}${path}`).catch(() => null), `${page}: ${path}`);
    }
  }
});

/** Whether Deno, which holds the names of its variables, reads this one for OpenTelemetry. */
async function isOfTelemetry(name: string): Promise<boolean> {
  deno ??= Buffer.from(await Deno.readFile(Deno.execPath()));
  return deno.includes(name);
}

let deno: Buffer | undefined;

Deno.test("documentation: operations and security name only settings and commands that exist", async () => {
  const known = new Set(settings.map(({ env }) => env));
  const { stdout: help } = await runCommand(["--help"]);
  const commands = Array.from(help.matchAll(/^ {2}([a-z-]+) {2,}/gm), ([, name]) => name ?? "");
  assert.ok(commands.includes("serve"));
  for (const page of ["docs/operations.md", "docs/security.md"]) {
    const text = texts.get(page) ?? "";
    for (const [, name = ""] of text.matchAll(/`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`/g)) {
      const isKnown = known.has(name) || known.has(name.replace(/_FILE$/, "")) ||
        name.startsWith("OTEL_") && await isOfTelemetry(name);
      assert.ok(isKnown, `${page}: ${name}`);
    }
    for (const [, name = ""] of text.matchAll(/`portcullis (?!listening on)([a-z-]+)/g)) {
      assert.ok(commands.includes(name), `${page}: portcullis ${name}`);
    }
  }
});

Deno.test("documentation: the README's table names every tool with its scope", () => {
  const readme = texts.get("README.md") ?? "";
  const scopeOf = new Map<string, string>();
  for (const [, names = "", scope = ""] of readme.matchAll(/^\| (`[a-z_`, ]+`) +\| `([a-z]+:[a-z]+)`[ ,]/gm)) {
    for (const [, name = ""] of names.matchAll(/`([a-z_]+)`/g)) scopeOf.set(name, scope);
  }
  const offered = new Map(everyTool.map(({ name, scopes: [scope = ""] }) => [name, scope]));
  assert.ok(offered.size > 15);
  assert.deepEqual([...scopeOf].sort(), [...offered].sort());
});
