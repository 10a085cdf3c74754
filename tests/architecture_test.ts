/** Holds the dependency rules of docs/architecture.md: which part of src/ may import which. */
import assert from "node:assert/strict";
import { dirname, join, normalize } from "node:path";

/** For each part (a folder of src/, or a file directly in it): the parts it may import, itself aside. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  "scopes.ts": [],
  "version.ts": [],
  config: ["lib", "ollama", "storage"],
  "server_url.ts": ["config"],
  storage: ["lib"],
  mcp: ["lib"],
  workspace: ["lib", "storage"],
  ollama: ["lib"],
  servicenow: ["lib", "storage"],
  tools: ["lib", "mcp", "workspace", "ollama", "servicenow"],
  resources: ["lib", "mcp", "ollama", "servicenow", "tools", "workspace"],
  prompts: ["lib", "mcp"],
  authorization_server: ["lib", "scopes.ts", "storage"],
  resource_server: ["lib"],
  http: ["lib", "mcp", "storage"],
  // The composition roots: the only ones that know everybody.
  "configured_limits.ts": [
    "authorization_server",
    "config",
    "http",
    "mcp",
    "ollama",
    "servicenow",
    "workspace",
  ],
  "installation.ts": ["config", "lib", "rotate_master_key.ts", "storage"],
  "rotate_master_key.ts": ["authorization_server", "config", "installation.ts", "lib", "servicenow", "storage"],
  "administration.ts": ["authorization_server", "config", "installation.ts", "lib"],
  "toolbox.ts": [
    "config",
    "configured_limits.ts",
    "installation.ts",
    "lib",
    "mcp",
    "ollama",
    "prompts",
    "resources",
    "servicenow",
    "telemetry",
    "tools",
    "workspace",
  ],
  "offered_scopes.ts": ["config", "scopes.ts"],
  "servicenow_wiring.ts": [
    "authorization_server",
    "config",
    "configured_limits.ts",
    "http",
    "installation.ts",
    "lib",
    "servicenow",
  ],
  "rate_limits.ts": ["config", "http", "installation.ts", "lib"],
  stdio: ["lib", "mcp"],
  metrics: ["lib", "mcp", "storage"],
  telemetry: ["config", "lib", "ollama"],
  "metrics_listener.ts": ["config", "http", "lib", "metrics", "version.ts"],
  "protocol_server.ts": ["config", "configured_limits.ts", "http", "installation.ts", "lib", "mcp", "version.ts"],
  "stdio_app.ts": [
    "config",
    "installation.ts",
    "lib",
    "metrics",
    "protocol_server.ts",
    "offered_scopes.ts",
    "server_url.ts",
    "servicenow_wiring.ts",
    "stdio",
    "telemetry",
    "toolbox.ts",
    "version.ts",
    "workspace",
  ],
  examination: ["authorization_server", "config", "lib", "servicenow", "storage"],
  "examination.ts": [
    "authorization_server",
    "config",
    "configured_limits.ts",
    "examination",
    "installation.ts",
    "lib",
    "offered_scopes.ts",
    "ollama",
    "sandbox",
    "server_url.ts",
    "servicenow",
    "storage",
    "telemetry",
  ],
  "app.ts": [
    "authorization_server",
    "config",
    "configured_limits.ts",
    "http",
    "installation.ts",
    "lib",
    "mcp",
    "metrics",
    "protocol_server.ts",
    "rate_limits.ts",
    "resource_server",
    "offered_scopes.ts",
    "server_url.ts",
    "servicenow_wiring.ts",
    "telemetry",
    "toolbox.ts",
    "version.ts",
  ],
  "running_server.ts": [
    "app.ts",
    "authorization_server",
    "config",
    "http",
    "installation.ts",
    "lib",
    "mcp",
    "metrics",
    "metrics_listener.ts",
    "server_url.ts",
    "telemetry",
    "version.ts",
    "workspace",
  ],
  sandbox: ["authorization_server", "config", "configured_limits.ts", "lib", "mcp", "running_server.ts", "storage"],
  "deploy_server.ts": ["authorization_server", "config", "configured_limits.ts", "lib", "running_server.ts", "sandbox"],
  cli: [
    "administration.ts",
    "config",
    "deploy_server.ts",
    "examination",
    "examination.ts",
    "installation.ts",
    "lib",
    "mcp",
    "rotate_master_key.ts",
    "sandbox",
    "server_url.ts",
    "storage",
    "stdio_app.ts",
    "version.ts",
  ],
};

/** Narrower than the table: within a part that may be imported, the only files that may. */
const onlyFiles: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  authorization_server: { storage: /^src\/storage\/port\.ts$/ },
  workspace: { storage: /^src\/storage\/port\.ts$/ },
  servicenow: { storage: /^src\/storage\/port\.ts$/ },
  tools: {
    mcp: /^src\/mcp\/tool\.ts$/,
    workspace: /^src\/workspace\/(?!disk_|store_)/,
    ollama: /\/(port|models_report)\.ts$/,
    servicenow: /\/(port|failure|tables|record_text)\.ts$/,
  },
  resources: {
    ollama: /\/models_report\.ts$/,
    servicenow: /\/(port|failure|tables|record_text)\.ts$/,
    tools: /\/(file_contents|file_display|media_type)\.ts$/,
    workspace: /^src\/workspace\/(?!disk_|store_)/,
  },
  config: { ollama: /^src\/ollama\/(host|direct_fetch)\.ts$/, storage: /database_url\.ts$/ },
  "configured_limits.ts": {
    authorization_server: /(context|document_fetcher)\.ts$/,
    http: /event_stream\.ts$/,
    mcp: /runtime\.ts$/,
    ollama: /limits\.ts$/,
    servicenow: /limits\.ts$/,
    workspace: /port\.ts$/,
  },
  "stdio_app.ts": { workspace: /unusable_workspace\.ts$/ },
  http: { storage: /^src\/storage\/port\.ts$/ },
  "protocol_server.ts": { http: /^src\/http\/rate_limit\.ts$/ },
  "rate_limits.ts": { http: /rate_limit\.ts$/ },
  "servicenow_wiring.ts": { authorization_server: /servicenow_port\.ts$/, http: /rate_limit\.ts$/ },
  "rotate_master_key.ts": {
    authorization_server: /reseal_signing_keys\.ts$/,
    servicenow: /reseal_links\.ts$/,
  },
  examination: {
    authorization_server: /public_address\.ts$/,
    servicenow: /(fetch_once|token_endpoint|transport)\.ts$/,
    storage: /data_(directory|files)\.ts$/,
  },
  "examination.ts": {
    authorization_server: /records\/user\.ts$/,
    servicenow: /play_connection\.ts$/,
    sandbox: /^src\/sandbox\/(?!run_in_worker)/,
    telemetry: /deno_telemetry\.ts$/,
  },
  "running_server.ts": {
    http: /^src\/http\/(connection_peer|proxy_notice)\.ts$/,
    mcp: /^src\/mcp\/(tool|method_names)\.ts$/,
    workspace: /unusable_workspace\.ts$/,
  },
  metrics: { mcp: /^src\/mcp\/audit\.ts$/, storage: /^src\/storage\/port\.ts$/ },
  telemetry: { config: /^src\/config\/config\.ts$/, ollama: /^src\/ollama\/(client|port)\.ts$/ },
  sandbox: {
    authorization_server: /(document_fetcher|internet)\.ts$/,
    mcp: /^src\/mcp\/tool\.ts$/,
    storage: /data_files\.ts$/,
  },
  "deploy_server.ts": {
    authorization_server: /(document_fetcher|internet)\.ts$/,
    sandbox: /^src\/sandbox\/own_permissions\.ts$/,
  },
  cli: { mcp: /^src\/mcp\/tool\.ts$/, sandbox: /^src\/sandbox\/(?!run_in_worker)/, storage: /_data_directory\.ts$/ },
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

const root = new URL("..", import.meta.url).pathname;
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
  /^src\/(mcp|resource_server|authorization_server|http|lib|app\.ts|rate_limits\.ts|protocol_server\.ts)/;
const ownTime = new Set([
  "src/lib/clock.ts",
  "src/lib/timers.ts",
  "src/lib/deadline.ts", // bodies that arrive
  "src/http/body_intake.ts",
  "src/lib/json_log.ts", // lines on their way out
  "src/authorization_server/public_document.ts", // documents on their way in
  "src/authorization_server/document_fetcher.ts",
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
