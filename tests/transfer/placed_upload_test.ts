/** A link is used up by the one upload that takes its place: what is refused, or killed right then, can go on. */
import assert from "node:assert/strict";
import { systemClock } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import type { Draft, Workspace } from "../../src/files/workspace/port.ts";
import { withFileServer } from "../fixtures/file_server.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";
import { at } from "../workspace/contract.ts";
import { principalOf } from "../workspace/call_tool.ts";
import { ask, transfersOf, unendedBody, uploadLink } from "./links.ts";

const content = new Uint8Array(2_000_003).map((_, index) => index % 251);
const small = content.slice(0, 500_000);
const question = { method: "PUT", headers: { "content-range": "bytes */*" } };
const stores = [["on the disk", {}], ["in the storage", { WORKSPACE_STORE: "storage" }]] as const;

function part(from: number, to = content.length): RequestInit {
  const headers = { "content-range": `bytes ${from}-${to - 1}/${content.length}` };
  return { method: "PUT", headers, body: content.slice(from, to) };
}

async function keptBytes(url: string): Promise<number> {
  return Number((await ask(url, question)).headers.get("range")?.slice("bytes=0-".length) ?? -1) + 1;
}

for (const [where, env] of stores) {
  Deno.test(`an upload that meets the quota, ${where}, keeps what fits, and goes on when there is room`, () =>
    withFileServer({ env: { ...env, WORKSPACE_QUOTA_BYTES: "4000000", TRASH_KEEP: "0" } }, async (files) => {
      for (const name of ["a", "b", "c"]) {
        await files.done("file_write", { filename: name, content: "x".repeat(900_000) });
      }
      const url = await uploadLink(files, "f");
      const attempts = [() => ({ method: "PUT", body: content }), () => part(0), (kept: number) => part(kept)];
      for (const attempt of attempts) {
        const answer = await ask(url, attempt(await keptBytes(url)));
        assert.equal(answer.status, 507, answer.text);
        assert.match(
          answer.text,
          /^The workspace may hold at most 4000000 bytes\. Its first \d+ bytes are kept: go on/,
        );
        const there = await keptBytes(url);
        assert.ok(there > 0 && there <= 1_300_000, `${there}`);
      }
      await files.done("file_delete", { path: "a" });
      assert.equal((await ask(url, part(await keptBytes(url)))).status, 201);
      const { structured } = await files.done("file_read", { filename: "f", link: true });
      assert.deepEqual(await bytesAt(String(structured["url"])), content);
    }));
}

Deno.test("an upload that is refused its place leaves the link good", () =>
  withFileServer({}, async (files) => {
    const url = await uploadLink(files, "f");
    const { body, end } = unendedBody(content.slice(0, 600_000));
    const putting = ask(url, { method: "PUT", body });
    await until("it runs", () => files.server.stderr().includes('"transfer_started"'));
    Deno.mkdirSync(`${files.root}/f`);
    end();
    assert.equal((await putting).status, 409);
    Deno.removeSync(`${files.root}/f`);
    assert.equal((await ask(url, { method: "PUT", body: content })).status, 201);
    assert.equal((await ask(url, { method: "PUT", body: content })).status, 404);
    assert.deepEqual(Deno.readFileSync(`${files.root}/f`), content);
  }));

async function bytesAt(url: string): Promise<Uint8Array> {
  return new Uint8Array(await (await fetch(url)).arrayBuffer());
}

const openWays: Readonly<Record<string, (directory: string) => Promise<Workspace>>> = {
  "on the disk": (directory) => Promise.resolve(openDiskWorkspace({ root: `${directory}/ws` })),
  "in the storage": (directory) =>
    Promise.resolve(
      openStoreWorkspace({
        name: "w",
        storage: openSqliteStorage({ path: `${directory}/files.db`, clock: systemClock }),
      }),
    ),
};

for (const [where, open] of Object.entries(openWays)) {
  for (const isPlaced of [false, true]) {
    const when = isPlaced ? "right after it was put in place is not taken again" : "right before goes on";
    Deno.test(`an upload whose instance dies ${when}: ${where}`, async () => {
      const directory = await Deno.makeTempDir();
      const storage = openSqliteStorage({ path: `${directory}/links.db`, clock: systemClock });
      const workspace = await open(directory);
      try {
        const dead = Promise.withResolvers<void>();
        const first = transfersOf(storage, dyingAtPlace(workspace, isPlaced, dead.resolve));
        const link = await first.links.forUpload(principalOf("owner"), at("f"), {});
        assert.ok(link.ok);
        const send = async ({ endpoint }: typeof first, init: RequestInit): Promise<Response> =>
          await endpoint(new Request(link.value.url, init), { address: "127.0.0.1" } as never);
        void send(first, { method: "PUT", body: small });
        await dead.promise;
        const next = transfersOf(storage, workspace);
        const there = await send(next, question);
        assert.equal(there.status, isPlaced ? 404 : 201, await there.text());
        assert.equal((await send(next, { method: "PUT", body: "again" })).status, 404);
        const read = await workspace.read(at("f"));
        assert.ok(read.ok);
        assert.deepEqual(read.value.bytes, small);
      } finally {
        await workspace.close();
        await storage.close();
        await Deno.remove(directory, { recursive: true });
      }
    });
  }
}

/** As its instance left it: drafts are closed, as the system closes files of a dead process, and nothing comes after. */
function dyingAtPlace(workspace: Workspace, isPlaced: boolean, onDeath: () => void): Workspace {
  return {
    ...workspace,
    begin: (...given) => dyingAtPlace(workspace.begin(...given), isPlaced, onDeath),
    async openDraft(...given) {
      const opened = await workspace.openDraft(...given);
      if (!opened.ok || opened.value === null) return opened;
      const draft = opened.value;
      const place: Draft["place"] = async () => {
        if (isPlaced) assert.ok((await draft.place()).ok);
        else await draft.close();
        onDeath();
        return await new Promise(() => {});
      };
      return { ok: true, value: Object.create(draft, { place: { value: place } }) };
    },
  };
}

const postgres = findPostgres();
const overPostgres = "an upload in parts goes on at another instance, after kill -9, with the files in PostgreSQL";
Deno.test({
  name: "missing" in postgres ? `SKIPPED ${overPostgres}: ${postgres.missing}` : overPostgres,
  ignore: "missing" in postgres,
  async fn() {
    if ("missing" in postgres) return;
    await using cluster = await startPostgresCluster(postgres.programs);
    const env = {
      DATABASE_URL: cluster.url,
      MASTER_KEY: btoa("0123456789abcdefghijklmnopqrstuv"),
      WORKSPACE_STORE: "storage",
      OLLAMA_HOST: "127.0.0.1:1",
    };
    await using place = await makeServerPlace();
    await using otherPlace = await makeServerPlace();
    const create = ["token", "create", "--scope", "files:write", "--data-dir", place.dataDir];
    const token = (await runCommand(create, { env })).stdout.trim();
    const killed = await startServer(place, { env });
    const path = new URL(await linkFrom(killed, token, "file_write")).pathname;
    assert.equal((await ask(killed.url + path, part(0, 700_000))).status, 308);
    await killed.stop("SIGKILL");
    await using other = await startServer(otherPlace, { env });
    const kept = await keptBytes(other.url + path);
    assert.equal(kept, 700_000);
    assert.equal((await ask(other.url + path, part(kept, 1_500_000))).status, 308);
    await using again = await startServer(place, { env });
    let created = 0; // one takes it over from the other, until all is there
    await until("the link is used up", async () => {
      const asked = await ask(other.url + path, question);
      const there = Number(asked.headers.get("range")?.slice("bytes=0-".length) ?? -1) + 1;
      const answers = await Promise.all([again, other].map(({ url }) => ask(url + path, part(there))));
      created += [asked, ...answers].filter(({ status }) => status === 201).length;
      return answers.every(({ status }) => status === 404);
    });
    assert.equal(created, 1);
    assert.deepEqual(await bytesAt(await linkFrom(again, token, "file_read")), content);
    assert.equal((await ask(again.url + path, question)).status, 404);
  },
});

async function linkFrom({ url }: RunningServer, token: string, tool: string): Promise<string> {
  const answer = await postMcp(url, toolCall(tool, { filename: "f", link: true }), { token });
  const { result } = await answer.json() as { result: { structuredContent: { url: string } } };
  return result.structuredContent.url;
}
