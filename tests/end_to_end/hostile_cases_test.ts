/**
 * Every row of workspace/hostile_cases.ts and further_hostile_cases.ts over HTTP, for a workspace on the disk and one in the storage; and after each,
 * every other way to name a file: whatever that gives, nothing outside is read, changed or told, and an answer comes.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { systemClock } from "../../src/lib/time.ts";
import type { Storage } from "../../src/storage/port.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { dataFiles } from "../../src/storage/mod_settings.ts";
import { parseDirectoryPath, rootPath, toTemplateValue } from "../../src/files/workspace/path.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { runCommand, type ServerPlace, startServer } from "../fixtures/running_server.ts";
import { type WorkspaceWay, workspaceWays } from "../fixtures/workspace_ways.ts";
import { type ConfinedBase, makeConfinedBase, secretText } from "../workspace/confined_base.ts";
import { at } from "../workspace/contract.ts";
import { furtherHostileCases } from "../workspace/further_hostile_cases.ts";
import { type HostileCase, hostileCases } from "../workspace/hostile_cases.ts";
import { copyIntoStore, fillIn, openUnprotected, runSetup } from "../workspace/hostile_scene.ts";

/** An answer that takes longer counts as a hang. */
const hangMs = 60_000;
const cases = [...hostileCases, ...furtherHostileCases];
const secrets = [secretText, "root:x:0"];

/** A server on a scene, and the way to put a case into its workspace. */
interface Running {
  readonly scene: ConfinedBase;
  ask(method: string, params: Record<string, unknown>): Promise<Answer>;
  /** Empties the workspace and sets the case up; says whether the workspace holds all of that. */
  setUp(script: string): Promise<boolean>;
}

interface Answer {
  readonly result?: { readonly isError?: boolean; readonly content?: readonly { readonly text?: string }[] };
  readonly error?: { readonly message: string };
}

const ways: readonly (WorkspaceWay & { readonly isStored: boolean })[] = [
  // without foreign functions tests/workspace/hostile_cases_test.ts has them
  ...workspaceWays.filter(({ start }) => start.flags === undefined).map((way) => ({ ...way, isStored: false })),
  { name: "in the storage", start: { env: { WORKSPACE_STORE: "storage" } }, lacks: null, isStored: true },
];
for (const way of ways) {
  Deno.test({
    name: `${way.lacks === null ? "" : `SKIPPED, ${way.lacks}: `}` +
      `hostile cases over HTTP, workspace ${way.name}: nothing outside is read, changed or told`,
    ignore: way.lacks !== null,
    fn: () =>
      withServer(way, async (running) => {
        let calls = 0;
        const seen = new Set<string>();
        for (const hostile of cases) {
          const { scene } = running;
          const isFaithful = await running.setUp(hostile.setup);
          const before = scene.fingerprint();
          const args = fillIn(hostile.args, scene) as Record<string, unknown>;
          const answer = await running.ask("tools/call", { name: hostile.tool, arguments: args });
          judge(hostile, answer, isFaithful);
          const path = String(args["filename"] ?? args["path"] ?? ".");
          const scenery = `${hostile.setup} ${path}`;
          const [looks, changes] = seen.has(scenery) ? [[], []] : otherWays(path);
          const tryOne = async ([method, params]: Way): Promise<void> => {
            const other = JSON.stringify(await running.ask(method, params));
            for (const secret of [...secrets, scene.base]) {
              // what a caller sends may come back to them
              const isOwn = JSON.stringify(args).includes(secret);
              assert.ok(isOwn || !other.includes(secret), `${hostile.id}, ${JSON.stringify(params)}: ${other}`);
            }
            calls++;
          };
          await Promise.all(looks.map(tryOne));
          // without what the case is about there is nothing to change
          if (isFaithful) { for (const change of changes) await tryOne(change); }
          seen.add(scenery);
          assert.equal(scene.fingerprint(), before, `${hostile.id}: something outside the workspace changed`);
        }
        process.stdout.write(`${cases.length} cases, ${calls} further calls\n`);
      }),
  });
}

function judge(hostile: HostileCase, answer: Answer, isFaithful: boolean): void {
  const whole = JSON.stringify(answer);
  const text = (answer.result?.content ?? []).map((block) => block.text ?? JSON.stringify(block)).join("\n");
  for (const secret of secrets) assert.ok(!whole.includes(secret), `${hostile.id} leaks: ${whole}`);
  for (const each of hostile.notContains ?? []) assert.ok(!text.includes(each), `${hostile.id} holds ${each}: ${text}`);
  if (!isFaithful) return;
  const isOk = answer.result?.isError === false;
  const kind = isOk ? "ok" : /no such file or directory/.test(text) ? "not_found" : "deny";
  assert.ok((hostile.acceptOfCall ?? hostile.accept).includes(kind), `${hostile.id}: ${kind}: ${whole}`);
  if (isOk) {
    for (const each of hostile.contains ?? []) {
      assert.ok(text.includes(each), `${hostile.id} lacks ${each}`);
    }
  }
}

type Way = readonly [string, Record<string, unknown>];

/** What else can be done with a path: looks, and changes one after the other, within the workspace if at all. */
function otherWays(path: string): readonly [readonly Way[], readonly Way[]] {
  const call = (name: string, args: Record<string, unknown>): Way => ["tools/call", { name, arguments: args }];
  const parsed = parseDirectoryPath(path);
  const uri = `workspace:///${parsed.ok ? toTemplateValue(parsed.value) : path}`;
  const looks: readonly Way[] = [
    call("file_read", { filename: path, head: 3 }),
    call("file_read", { filename: path, embed: true }),
    call("file_read", { filename: path, files: [`${path}/secret.txt`] }),
    call("file_list", { path, depth: 8, show: "details" }),
    call("file_search", { path, query: "TOPSECRET" }),
    call("file_search", { pattern: path }),
    ["resources/read", { uri }],
    ["resources/read", { uri: `workspace:///${path}` }],
    ["completion/complete", {
      ref: { type: "ref/resource", uri: "workspace:///{+path}" },
      argument: { name: "path", value: `${path}/` },
    }],
  ];
  const changes = [
    call("file_edit", { filename: path, old_text: "s", new_text: "S", replace_all: true }),
    call("file_write", { filename: `${path}/below.txt`, content: "x" }),
    call("file_write", { filename: path, content: "x", mode: "append" }),
    call("file_move", { destination: `${path}/new/er` }),
    call("file_move", { copy: true, filename: path, destination: "copied" }),
    call("file_move", { copy: true, filename: path, destination: `${path}/copied`, overwrite: true }),
    call("file_move", { filename: path, destination: "moved" }),
    call("file_read", { filename: "moved" }),
    call("file_list", { path: "moved" }),
    call("file_move", { filename: "moved", destination: path, overwrite: true }),
    call("file_delete", { filename: path, recursive: true }),
    call("file_search", { query: "TOPSECRET" }),
    call("file_list", { path: ".", depth: 64 }),
  ];
  return [looks, changes];
}

async function withServer(
  { start, isStored }: (typeof ways)[number],
  body: (running: Running) => Promise<void>,
): Promise<void> {
  const directory = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "portcullis-" }));
  const base = `${directory}/base`;
  Deno.mkdirSync(base);
  const isPerUser = start.env?.["WORKSPACES"] === "per-user";
  const place: ServerPlace = {
    dataDir: `${directory}/data`,
    workspaceDir: isPerUser ? base : `${base}/ws`,
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
  await using _place = place;
  const created = await runCommand(["token", "create", "--scope", "files:write", "--data-dir", place.dataDir]);
  assert.equal(created.code, 0, created.stderr);
  const token = created.stdout.trim();
  if (!isPerUser) Deno.mkdirSync(place.workspaceDir);
  await using server = await startServer(place, { ...start, env: { MCP_RATE_LIMIT: "1000000", ...start.env } });
  let name = "ws";
  if (isPerUser) { // the first call makes the user's directory: what is beside it is a neighbour's
    await postMcp(server.url, toolCall("file_list", {}), { token });
    name = [...Deno.readDirSync(base)][0]?.name ?? assert.fail("no directory");
  }
  const scene = makeConfinedBase(base, name);
  const storage = isStored
    ? openSqliteStorage({ path: `${place.dataDir}/${dataFiles.database}`, clock: systemClock })
    : null;
  try {
    await body({
      scene,
      async ask(method, params) {
        const message = method === "tools/call"
          ? toolCall(String(params["name"]), params["arguments"] as Record<string, unknown>)
          : { jsonrpc: "2.0", id: 1, method, params };
        const signal = AbortSignal.timeout(hangMs);
        return await (await postMcp(server.url, message, { token, signal })).json();
      },
      async setUp(script) {
        empty(scene.root);
        await runSetup(script, scene);
        if (storage === null) return true;
        await emptyStore(storage);
        return await copyIntoStore(storage, scene.root);
      },
    });
    assert.doesNotMatch(server.stderr(), /"level":"error"|crashed|request_failed/);
  } finally {
    await storage?.close();
  }
}

function empty(directory: string): void {
  for (const { name } of [...Deno.readDirSync(directory)]) {
    // names that are not UTF-8 cannot be said to Deno
    if (name.includes("\ufffd")) {
      new Deno.Command("sh", { args: ["-c", "rm -rf ./* ./.[!.]*"], cwd: directory }).outputSync();
    } else Deno.removeSync(`${directory}/${name}`, { recursive: true });
  }
}

async function emptyStore(storage: Storage): Promise<void> {
  const workspace = openUnprotected(storage);
  const listing = await workspace.list(rootPath);
  assert.ok(listing.ok && !listing.value.hasMore);
  for (const { name } of listing.value.entries) {
    assert.ok((await workspace.remove(at(name), { recursive: true })).ok);
  }
  await workspace.close();
}
