/** What a start loads before it knows what was asked for: a module here is a millisecond of every start. */
import assert from "node:assert/strict";

interface Dependency {
  readonly isDynamic?: boolean;
  readonly code?: { readonly specifier?: string };
}

interface ModuleGraph {
  readonly modules: readonly { readonly specifier: string; readonly dependencies?: readonly Dependency[] }[];
}

const root = new URL("../..", import.meta.url);

/** Everything that is evaluated before the module at `entry` is. */
function loadedWith(entry: string): Promise<ReadonlySet<string>> {
  return modulesOf(entry, ({ isDynamic }) => !isDynamic);
}

/** Everything that Deno reads before it evaluates the module at `entry`: what may be imported later, too. */
function readWith(entry: string): Promise<ReadonlySet<string>> {
  return modulesOf(entry, () => true);
}

async function modulesOf(entry: string, follow: (dependency: Dependency) => boolean): Promise<ReadonlySet<string>> {
  const { href } = new URL(entry, root);
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", href], cwd: root }).output();
  const { modules }: ModuleGraph = JSON.parse(new TextDecoder().decode(stdout));
  const dependenciesOf = new Map(modules.map(({ specifier, dependencies }) => [specifier, dependencies ?? []]));
  const loaded = new Set<string>();
  const visit = (specifier: string): void => {
    if (loaded.has(specifier)) return;
    loaded.add(specifier);
    for (const dependency of dependenciesOf.get(specifier) ?? []) {
      if (follow(dependency) && dependency.code?.specifier !== undefined) visit(dependency.code.specifier);
    }
  };
  visit(href);
  return new Set(Array.from(loaded, (specifier) => specifier.replace(root.href, "")));
}

Deno.test("help and version load no module of Node, no setting and no command", async () => {
  const loaded = [...await loadedWith("main.ts")];
  assert.ok(loaded.includes("src/cli/help.ts") && loaded.includes("src/version.ts"), "the graph was read");
  assert.deepEqual(
    loaded.filter((specifier) => /^(npm:|node:)|^src\/(?!cli\/\w+\.ts|lib\/|version\.ts)/.test(specifier)),
    [],
  );
});

Deno.test("the program starts without packages, databases and the modules of Node that are slow to load", async () => {
  const loaded = [...await loadedWith("src/cli/run_command.ts"), ...await loadedWith("src/cli/commands/serve.ts")];
  assert.ok(loaded.includes("src/cli/read_settings.ts"), "the graph was read");
  const slow =
    /^(npm:|node:(fs|process|crypto|http|https|net|sqlite|stream))|^src\/(mcp|tools|workspace|http)\/(?!(settings|port)\.ts$)/;
  assert.deepEqual(loaded.filter((specifier) => slow.test(specifier)), []);
});

Deno.test("the main thread of a server reads no other command, and nothing of what its worker runs", async () => {
  for (const entry of ["src/cli/run_command.ts", "src/cli/commands/serve.ts"]) {
    const read = [...await readWith(entry)];
    assert.ok(read.includes("src/lib/program/program_module.ts"), "the graph was read");
    const others =
      /^npm:|^src\/cli\/commands\/(?!serve\.ts$)|^src\/(mcp|tools|workspace|http|storage)\/(?!(settings|port|database_url|data_directory\/data_files)\.ts$)/;
    assert.deepEqual(read.filter((specifier) => others.test(specifier)), [], entry);
  }
});

Deno.test("the server starts without pages, OAuth endpoints, links, metrics, the model and searches", async () => {
  const loaded = [...await loadedWith("src/composition/workers/run_in_worker.ts")];
  assert.ok(loaded.includes("src/authorization_server/authorization_server.ts"), "the graph was read");
  const later = [
    /^src\/(ollama\/(client|local_model|model_queue)|transfer\/(transfers|upload|download|link_store)|workspace\/text\/(line_pattern|line_search|search_file))/,
    /^src\/authorization_server\/(pages|browser|endpoints)/,
    /^src\/authorization_server\/(token\/\w+_grant|users\/(set_up|sign_in|invitation)|clients\/register)\.ts/,
    /^src\/console\/(?!settings\.ts$)/,
    /^src\/(telemetry\/metrics\/|composition\/metrics_listener)/,
    /^src\/composition\/(console\/(?!console_side)|doctor)/,
    /^(node:net$|npm:.*jose)/,
  ];
  assert.deepEqual(loaded.filter((specifier) => later.some((pattern) => pattern.test(specifier))), []);
});

Deno.test("the server starts without what only another configuration uses", async () => {
  const loaded = [...await loadedWith("src/composition/workers/run_in_worker.ts")];
  assert.ok(loaded.includes("src/tools/files/file_read.ts"), "the graph was read");
  const unused = [
    /^src\/servicenow\/(?!port|failure|tables|limits|access\/(known|related)_tables)/,
    /^src\/(tools|resources|prompts)\/servicenow(?!\/outcome\.ts$)/,
    /^src\/workspace\/store\//,
    /^src\/storage\/(sqlite|postgres|deno_kv)\//,
    /^npm:.*(postgres|re2js|diff)/,
  ];
  assert.deepEqual(loaded.filter((specifier) => unused.some((pattern) => pattern.test(specifier))), []);
});

Deno.test("the server starts with no schema made but the lazy ones that stand for others", async () => {
  const fixture = new URL("../fixtures/schemas_made_at_start.ts", import.meta.url);
  const worker = new Worker(fixture, { type: "module" });
  const posted = Promise.withResolvers<readonly string[]>();
  worker.onmessage = ({ data }: MessageEvent<unknown>) => Array.isArray(data) && posted.resolve(data); // the kernel posts, too
  worker.onerror = ({ message }) => posted.reject(new Error(message));
  const kinds = await posted.promise.finally(() => worker.terminate());
  assert.ok(kinds.includes("lazy"), "schemas were counted");
  assert.deepEqual(kinds.filter((kind) => kind !== "lazy"), []);
});
