/** A link is used up by the one upload that is put in place. One that is refused or breaks leaves nothing. */
import assert from "node:assert/strict";
import { systemClock } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { withFileServer } from "../fixtures/file_server.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";
import { at } from "../workspace/contract.ts";
import { principalOf } from "../workspace/call_tool.ts";
import { ask, stagedFiles, transfersOf, unendedBody, uploadLink } from "./links.ts";

const content = new Uint8Array(2_000_003).map((_, index) => index % 251);
const small = content.slice(0, 500_000);
const stores = [["on the disk", {}], ["in the storage", { WORKSPACE_STORE: "storage" }]] as const;

for (const [where, env] of stores) {
  Deno.test(`an upload that meets the quota, ${where}, leaves nothing, and the link is good when there is room`, () =>
    withFileServer({ env: { ...env, WORKSPACE_QUOTA_BYTES: "4000000", TRASH_KEEP: "0" } }, async (files) => {
      for (const name of ["a", "b", "c"]) {
        await files.done("file_write", { filename: name, content: "x".repeat(900_000) });
      }
      const url = await uploadLink(files, "f");
      for (let attempt = 0; attempt < 2; attempt++) {
        const answer = await ask(url, { method: "PUT", body: content });
        assert.deepEqual([answer.status, answer.text], [507, "The workspace may hold at most 4000000 bytes.\n"]);
      }
      await files.done("file_delete", { path: "a" });
      assert.equal((await ask(url, { method: "PUT", body: content })).status, 201);
      const { structured } = await files.done("file_read", { filename: "f", link: true });
      assert.deepEqual(await bytesAt(String(structured["url"])), content);
    }));

  Deno.test(`an upload that kill -9 ends, ${where}, leaves the file and nothing else, and starts again`, async () => {
    await using place = await makeServerPlace();
    const create = ["token", "create", "--scope", "files:write", "--data-dir", place.dataDir];
    const token = (await runCommand(create)).stdout.trim();
    const killed = await startServer(place, { env });
    const path = new URL(await linkFrom(killed, token, "file_write")).pathname;
    const { body, end } = unendedBody(content.slice(0, 1_500_000));
    const putting = ask(killed.url + path, { method: "PUT", body }).catch(() => null);
    await until("it runs", () => killed.stderr().includes('"transfer_started"'));
    await killed.stop("SIGKILL");
    end();
    await putting;
    await using again = await startServer(place, { env });
    assert.equal((await ask(again.url + path, { method: "PUT", body: content })).status, 201);
    assert.equal((await ask(again.url + path, { method: "PUT", body: content })).status, 404);
    assert.deepEqual(await bytesAt(await linkFrom(again, token, "file_read")), content);
    if (where === "on the disk") assert.deepEqual(stagedFiles(place.workspaceDir), []);
  });
}

Deno.test("an upload is one change, which the audit names and file_undo undoes", () =>
  withFileServer({}, async (files) => {
    await files.done("file_write", { filename: "f", content: "old" });
    assert.equal((await ask(await uploadLink(files, "f"), { method: "PUT", body: content })).status, 200);
    assert.equal((await ask(await uploadLink(files, "new/g"), { method: "PUT", body: "x" })).status, 201);
    await until(
      "the audit names the change",
      () => (files.server.stderr().match(/"outcome":"whole"[^\n]*"change":"\w+"/g) ?? []).length === 2,
    );
    await files.done("file_undo", { change: "last" });
    await files.refused("file_read", { filename: "new/g" });
    await files.done("file_undo", { change: "last" });
    assert.match((await files.done("file_read", { filename: "f" })).text, /^old/);
  }));

Deno.test("a part of a file is refused, since it would be taken for the whole (RFC 9110 §14.5)", () =>
  withFileServer({}, async (files) => {
    const url = await uploadLink(files, "f");
    for (const range of ["bytes 0-4/10", "bytes 5-9/10", "bytes */*", "bytes */10", "items 0-1/2", "x"]) {
      const answer = await ask(url, { method: "PUT", body: "01234", headers: { "content-range": range } });
      assert.deepEqual([answer.status, answer.text], [400, "Send the whole file: a broken upload starts again.\n"]);
    }
    assert.equal((await ask(url, { method: "PUT", body: "0123456789" })).status, 201);
  }));

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
    const when = isPlaced ? "right after" : "right before";
    Deno.test(`an upload whose instance dies ${when} it was put in place has used the link: ${where}`, async () => {
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
        assert.equal((await send(next, { method: "PUT", body: "again" })).status, 404);
        const read = await workspace.read(at("f"));
        assert.equal(read.ok, isPlaced);
        if (read.ok) assert.deepEqual(read.value.bytes, small);
      } finally {
        await workspace.close();
        await storage.close();
        await Deno.remove(directory, { recursive: true });
      }
    });
  }
}

/** As its instance left it: nothing comes after the last piece, or after the file is there. */
function dyingAtPlace(workspace: Workspace, isPlaced: boolean, onDeath: () => void): Workspace {
  const die = (): Promise<never> => {
    onDeath();
    return new Promise(() => {});
  };
  return {
    ...workspace,
    begin: (...given) => dyingAtPlace(workspace.begin(...given), isPlaced, onDeath),
    async receive(path, content, options) {
      if (isPlaced) assert.ok((await workspace.receive(path, content, options)).ok);
      else for await (const _ of content);
      return await die();
    },
  };
}

const postgres = findPostgres();
const overPostgres = "a link to upload works at another instance after kill -9, once, with the files in PostgreSQL";
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
    await killed.stop("SIGKILL");
    await using other = await startServer(otherPlace, { env });
    await using again = await startServer(place, { env });
    const answers = await Promise.all(
      [again, other, again, other].map(({ url }) => ask(url + path, { method: "PUT", body: content })),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 1, JSON.stringify(answers));
    assert.deepEqual(await bytesAt(await linkFrom(again, token, "file_read")), content);
    for (const { url } of [again, other]) {
      assert.equal((await ask(url + path, { method: "PUT", body: "x" })).status, 404);
    }
  },
});

async function linkFrom({ url }: RunningServer, token: string, tool: string): Promise<string> {
  const answer = await postMcp(url, toolCall(tool, { filename: "f", link: true }), { token });
  const { result } = await answer.json() as { result: { structuredContent: { url: string } } };
  return result.structuredContent.url;
}
