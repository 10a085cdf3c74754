/** Holds the dependency rules of docs/architecture.md: which part of src/ may import which. */
import assert from "node:assert/strict";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

/** The parts that have a table of settings, which config collects. */
const withSettings = [
  "audit",
  "authorization_server",
  "console",
  "http",
  "mcp",
  "ollama",
  "rate_limit",
  "servicenow",
  "storage",
  "telemetry",
  "workspace",
];

/** For each part (a folder of src/, or a file directly in it): the parts it may import, itself aside. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  kernel: [],
  "scopes.ts": [],
  "version.ts": [],
  storage: ["lib"],
  rate_limit: ["lib", "storage"],
  mcp: ["lib", "storage"],
  audit: ["lib", "mcp", "storage"],
  attempts: ["lib", "storage"],
  live: ["audit", "lib", "mcp", "storage"],
  workspace: ["kernel", "lib", "storage"],
  ollama: ["lib"],
  servicenow: ["authorization_server", "lib", "storage"],
  tools: ["lib", "mcp", "transfer", "workspace", "ollama", "servicenow"],
  transfer: ["lib", "rate_limit", "storage", "workspace"],
  resources: ["lib", "mcp", "ollama", "servicenow", "workspace"],
  prompts: ["lib", "mcp"],
  authorization_server: ["lib", "scopes.ts", "storage"],
  approval: ["lib", "mcp", "storage", "workspace"],
  console: ["approval", "attempts", "audit", "authorization_server", "lib", "live"],
  resource_server: ["lib"],
  http: ["lib", "mcp", "rate_limit", "storage"],
  stdio: ["lib", "mcp"],
  telemetry: ["lib", "mcp", "ollama", "storage"],
  config: ["lib", ...withSettings],
  sandbox: ["kernel", "config", "lib", "storage"],
  // Wires the parts: the only one that knows them all.
  composition: [
    "attempts",
    "live",
    "approval",
    "audit",
    "kernel",
    "authorization_server",
    "config",
    "console",
    "http",
    "lib",
    "mcp",
    "ollama",
    "prompts",
    "rate_limit",
    "resource_server",
    "resources",
    "sandbox",
    "scopes.ts",
    "servicenow",
    "stdio",
    "storage",
    "telemetry",
    "tools",
    "transfer",
    "version.ts",
    "workspace",
  ],
  cli: [
    "attempts",
    "audit",
    "kernel",
    "authorization_server",
    "composition",
    "config",
    "lib",
    "mcp",
    "sandbox",
    "scopes.ts",
    "storage",
    "version.ts",
  ],
};

/** Narrower than the table: within a part that may be imported, the only files that may. */
const onlyFiles: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  authorization_server: { storage: /^src\/storage\/port\.ts$/ },
  workspace: { kernel: /^src\/kernel\/(?!libc)/, storage: /^src\/storage\/port\.ts$/ },
  servicenow: {
    authorization_server: /\/servicenow_port\.ts$/, // the port that it implements
    storage: /^src\/storage\/port\.ts$/,
  },
  rate_limit: { storage: /^src\/storage\/port\.ts$/ },
  approval: {
    mcp: /^src\/mcp\/(tool|resource)\.ts$/,
    storage: /^src\/storage\/port\.ts$/,
    workspace: /^src\/workspace\/(file_display|name_folding)\.ts$/, // how names are compared and shown
  },
  attempts: { storage: /^src\/storage\/port\.ts$/ },
  console: {
    attempts: /\/report\.ts$/,
    audit: /\/(filter|search)\.ts$/,
    authorization_server: /\/(administration|access_list|visits|link_words|servicenow_port)\.ts$/,
  },
  mcp: { storage: /^src\/storage\/port\.ts$/ },
  live: { mcp: /^src\/mcp\/calls\/call_watch\.ts$/, storage: /^src\/storage\/port\.ts$/ },
  audit: { mcp: /^src\/mcp\/audit\.ts$/, storage: /^src\/storage\/port\.ts$/ },
  tools: {
    mcp: /^src\/mcp\/tool\.ts$/,
    transfer: /^src\/transfer\/port\.ts$/,
    workspace: /^src\/workspace\/(?!disk\/|store\/)/,
    ollama: /\/(port|models_report)\.ts$/,
    servicenow: /\/(port|caller|failure)\.ts$/,
  },
  resources: {
    ollama: /\/models_report\.ts$/,
    servicenow: /\/(port|failure|tables|record_text)\.ts$/,
    workspace: /^src\/workspace\/(?!disk\/|store\/)/,
  },
  http: { storage: /^src\/storage\/port\.ts$/ },
  transfer: { storage: /^src\/storage\/port\.ts$/, workspace: /^src\/workspace\/(?!disk\/|store\/)/ },
  config: Object.fromEntries(withSettings.map((part) => [part, /\/settings\.ts$/])),
  telemetry: {
    mcp: /^src\/mcp\/audit\.ts$/,
    ollama: /^src\/ollama\/(client|port)\.ts$/,
    storage: /^src\/storage\/(port|database_url)\.ts$/,
  },
  sandbox: { kernel: /^src\/kernel\/(?!libc)/, storage: /data_files\.ts$/ },
  cli: {
    attempts: /\/report\.ts$/,
    audit: /\/(search|verify|filter|head)\.ts$/,
    // The owner's operations on an opened installation.
    authorization_server:
      /\/(manage_clients|manage_users|operator_token|password_hash|rotate_signing_keys|sign_in_link)\.ts$/,
    mcp: /^src\/mcp\/tool\.ts$/,
    storage: /data_directory\/(backup|restore)\.ts$/,
  },
};

interface Import {
  readonly from: string;
  readonly specifier: string;
}

async function importsBelow(directory: string): Promise<Import[]> {
  const found: Import[] = [];
  for await (const entry of Deno.readDir(directory)) {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory) found.push(...await importsBelow(path));
    else if (entry.name.endsWith(".ts")) {
      const source = await Deno.readTextFile(path);
      for (const [, specifier] of source.matchAll(/^(?:import|export)\s[^;]*?from\s+"([^"]+)"|^import\s+"([^"]+)"/gm)) {
        if (specifier !== undefined) found.push({ from: path, specifier });
      }
      for (const [, specifier] of source.matchAll(/\bimport\(\s*"([^"]+)"/g)) {
        if (specifier !== undefined) found.push({ from: path, specifier });
      }
    }
  }
  return found;
}

function partOf(path: string): string {
  return path.split("/")[1] ?? path;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const imports = (await importsBelow(`${root}src`)).map(({ from, specifier }) => ({
  from: from.slice(root.length),
  specifier,
}));

Deno.test("architecture: every part of src/ imports only what the rules of docs/architecture.md allow", () => {
  const broken: string[] = [];
  for (const { from, specifier } of imports) {
    if (!specifier.startsWith(".")) continue;
    const target = normalize(join(dirname(from), specifier));
    const [part, imported] = [partOf(from), partOf(target)];
    if (target === "deno.json" && part === "version.ts") continue;
    assert.ok(part in mayImport, `${part} is not on the map: add it to docs/architecture.md and to this table`);
    if (part === imported) continue;
    const narrow = onlyFiles[part]?.[imported];
    if (!mayImport[part]?.includes(imported) || (narrow !== undefined && !narrow.test(target))) {
      broken.push(`${from} imports ${target}`);
    }
  }
  assert.deepEqual(broken, []);
  assert.ok(imports.length > 50, "the scan sees the imports");
});

Deno.test("architecture: only http/ knows Hono, and the two OAuth roles never meet", () => {
  const hono = imports.filter(({ from, specifier }) => specifier.startsWith("@hono/") && partOf(from) !== "http");
  assert.deepEqual(hono, []);
  assert.ok(!mayImport["authorization_server"]?.includes("resource_server"));
  assert.ok(!mayImport["resource_server"]?.includes("authorization_server"));
});

/** What the simulated fleet runs; and what in it waits for the world outside, which the simulation does without. */
const simulated =
  /^src\/(attempts|audit|live|mcp|rate_limit|resource_server|authorization_server|http|lib|composition\/(app|http_side|rate_limits|protocol_server|records\/\w+)\.ts)/;
const ownTime = new Set([
  "src/lib/time.ts",
  "src/lib/time.ts",
  "src/lib/deadline.ts", // bodies that arrive
  "src/lib/turns.ts", // the real thread
  "src/http/body_intake.ts",
  "src/lib/json_log.ts", // lines on their way out
  "src/oauth/public_document.ts", // documents on their way in
  "src/oauth/document_fetcher.ts",
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

Deno.test("architecture: everything on the map exists", async () => {
  for (const part of Object.keys(mayImport)) assert.ok(await Deno.stat(`${root}src/${part}`), part);
});

Deno.test("architecture: the map in docs/architecture.md is what src/ holds", async () => {
  const page = await Deno.readTextFile(`${root}docs/architecture.md`);
  const map = /^src\/\n([^]*?)^tests\//m.exec(page)?.[1] ?? "";
  const drawn = Array.from(map.matchAll(/^ {2}(\S+)/gm), ([, name = ""]) => name);
  const there = Array.from(Deno.readDirSync(`${root}src`), ({ name, isDirectory }) => isDirectory ? `${name}/` : name);
  assert.deepEqual(drawn.sort(), there.sort());
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
