/** What a start loads before it knows what was asked for: a module here is a millisecond of every start. */
import assert from "node:assert/strict";
import { whereKernelConfines } from "../fixtures/confining_kernel.ts";
import { postMcp } from "../fixtures/mcp_call.ts";
import { makeServerPlace, serverFlags, startServer } from "../fixtures/running_server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { createToken } from "../sandbox/call.ts";

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
  assert.ok(loaded.includes("src/cli/command.ts") && loaded.includes("src/lib/version.ts"), "the graph was read");
  assert.deepEqual(
    loaded.filter((specifier) => /^(npm:|node:)|^src\/(?!cli\/\w+\.ts|lib\/)/.test(specifier)),
    [],
  );
});

Deno.test("the program starts without packages, databases and the modules of Node that are slow to load", async () => {
  const loaded = [...await loadedWith("src/cli/run_command.ts"), ...await loadedWith("src/cli/serve_command.ts")];
  assert.ok(loaded.includes("src/cli/run_command.ts"), "the graph was read");
  const slow =
    /^(npm:|node:(fs|process|crypto|http|https|net|sqlite|stream))|^src\/(mcp|files|http|oauth|llm|console|audit)\/(?!mod_settings\.ts$)/;
  assert.deepEqual(loaded.filter((specifier) => slow.test(specifier)), []);
});

Deno.test("the main thread of a server reads no other command, and nothing of what its worker runs", async () => {
  for (const entry of ["src/cli/run_command.ts", "src/cli/serve_command.ts"]) {
    const read = [...await readWith(entry)];
    assert.ok(read.includes("src/lib/program.ts"), "the graph was read");
    const others =
      /^npm:|^src\/cli\/(?!(serve|run)_command\.ts$)\w+_command\.ts|^src\/(mcp|files|http|oauth|llm|console|audit|storage)\/(?!mod_settings\.ts$)/;
    assert.deepEqual(read.filter((specifier) => others.test(specifier)), [], entry);
  }
});

Deno.test("the server starts without pages, OAuth endpoints, links and searches of files", async () => {
  const loaded = [...await loadedWith("src/app/run_in_worker.ts")];
  assert.ok(loaded.includes("src/oauth/authorization_server.ts"), "the graph was read");
  const later = [
    /^src\/files\/(transfer\/(transfers|upload|download|links)|text\/(line_pattern|search_file))\./,
    /^src\/oauth\/(company_\w+|administration|endpoints|authorize|consent|grants|token|set_up|sign_in|register)\.ts/,
    /^src\/console\/(later\.ts|pages\/)/,
    /^src\/app\/(console_pages|doctor)/,
    /^(node:net$|npm:.*jose)/,
  ];
  assert.deepEqual(loaded.filter((specifier) => later.some((pattern) => pattern.test(specifier))), []);
});

Deno.test("the server starts without what only another configuration uses", async () => {
  const loaded = [...await loadedWith("src/app/run_in_worker.ts")];
  assert.ok(loaded.includes("src/files/tools/file_read.ts"), "the graph was read");
  const unused = [
    /^src\/servicenow\/(?!mod\.|tables\.|mod_settings\.)/,
    /^src\/files\/store\//,
    /^src\/storage\/(sqlite|postgres)/,
    /^npm:.*(postgres|re2js|diff|jschardet|jsonc-parser|htmlparser2|postal-mime|photon)/,
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

/** What brings Node's streams, 13 to 19 ms of a start, its assertions, 8 ms, or its errors, 4 ms. */
const slowOfNode =
  /^(node:(async_hooks|buffer|crypto|fs|path|process|stream|timers|util)|ext:deno_node\/(crypto|fs|_process\/process|internal\/streams\/.*)\.)/;

Deno.test("a server imports no slow module of Node before it listens", async () => {
  const entries = ["app/run_in_worker", "storage/sqlite_storage"];
  for (const entry of entries) {
    const loaded = [...await loadedWith(`src/${entry}.ts`)];
    assert.ok(loaded.includes(`src/${entry}.ts`), "the graph was read");
    assert.deepEqual(loaded.filter((specifier) => slowOfNode.test(specifier)), [], entry);
  }
});

const serverLoads =
  "a server loads no slow module of Node up to its first answers, where the kernel confines its files";
Deno.test(skippedUnless(...whereKernelConfines, serverLoads), async () => {
  const logs = await Deno.makeTempDir({ prefix: "portcullis-modules-" });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  const logged = `--v8-flags=--log-function-events,--logfile=${logs}/v8.log`;
  const server = await startServer(place, { flags: [...serverFlags, logged], env: { PORT: "0" } });
  try {
    for (
      const path of ["/health", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"]
    ) {
      assert.equal(
        (await fetch(`${server.url}${path}`).then((answer) => answer.text().then(() => answer))).status,
        200,
        path,
      );
    }
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params };
    const refused = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "tools/list" });
    assert.equal(refused.status, 401);
    await refused.body?.cancel();
    const opened = await postMcp(server.url, initialize, { token });
    const session = opened.headers.get("mcp-session-id");
    assert.ok(opened.status === 200 && session !== null);
    const headers = { "mcp-session-id": session };
    const listed = await postMcp(server.url, { jsonrpc: "2.0", id: 2, method: "tools/list" }, { token, headers });
    assert.ok("result" in await listed.json());
  } finally {
    await server.stop();
  }
  const loaded: string[] = [];
  for await (const { name } of Deno.readDir(logs)) {
    const text = await Deno.readTextFile(`${logs}/${name}`);
    loaded.push(...Array.from(text.matchAll(/^script-details,\d+,([^,\n]+)/gm), ([, script = ""]) => script));
  }
  assert.ok(loaded.some((script) => script.endsWith("/run_in_worker.ts")), "the worker's modules are among them");
  assert.ok(loaded.includes("node:sqlite"), "Node's modules are among them");
  const early = loaded.filter((script) => !script.startsWith("node:timers")); // those come soon after
  assert.deepEqual(early.filter((script) => slowOfNode.test(script)), []);
  await Deno.remove(logs, { recursive: true });
});
