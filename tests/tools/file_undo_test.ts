/** `file_undo` as clients call it: over HTTP, for one user and client, on a disk, for each user and in the storage. */
import assert from "node:assert/strict";
import { withFileServer } from "../fixtures/file_server.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import {
  makeServerPlace,
  runCommand,
  type RunningServer,
  type ServerPlace,
  startServer,
} from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

Deno.test("file_undo undoes the passage of an edit in a file that was changed elsewhere since, and says when it cannot", () =>
  withFileServer({}, async ({ done, refused, root }) => {
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
    await done("file_write", { filename: "f", content: lines.join("\n") });
    await done("file_edit", { path: "f", old_text: "line 10", new_text: "line ten" });
    await done("file_edit", { path: "f", old_text: "line 20", new_text: "line twenty" });
    const [, first] = (await done("file_undo", {})).text.split("\n").map((line) => line.split(" ")[0] ?? "");
    await done("file_undo", { change: first });
    const text = Deno.readTextFileSync(`${root}/f`);
    assert.ok(text.includes("line 10\n") && text.includes("line twenty\n"));
    Deno.writeTextFileSync(`${root}/f`, text.replace("line twenty", "line 2x"));
    assert.match(await refused("file_undo", { change: "last" }), /f was changed since; nothing was changed$/);
    assert.ok(Deno.readTextFileSync(`${root}/f`).includes("line 2x"));
  }));

Deno.test("file_undo says of a change by file_move whether it moved, copied or made a directory", () =>
  withFileServer({}, async ({ done }) => {
    await done("file_write", { filename: "a/f", content: "1", files: [{ filename: "a/other", content: "2" }] });
    const cases: readonly [Record<string, unknown>, string][] = [
      [{ path: "a/f", destination: "g" }, "file_move g (from a/f)"],
      [{ path: "g", destination: "h", copy: true }, "file_move, a copy h"],
      [{ path: "a", destination: "b", copy: true }, "file_move, a copy b"],
      [{ paths: ["g", "h"], destination: "c", copy: true }, "file_move, a copy c"],
      [{ destination: "d/e" }, "file_move, a new directory d/e"],
      [{ paths: ["g"], destination: "new" }, "file_move new"],
    ];
    for (const [args, words] of cases) {
      await done("file_move", args);
      const listed = await done("file_undo", {});
      const [line = ""] = listed.text.split("\n");
      assert.ok(line.includes(`Z ${words}`), line);
      const [change] = listed.structured["changes"] as { tool: string; did?: string }[];
      assert.equal(change?.tool, "file_move");
      assert.equal(
        change.did,
        words.includes("copy") ? "a copy" : words.includes("new d") ? "a new directory" : undefined,
      );
    }
    assert.match((await done("file_undo", { change: "last" })).text, /^Undid file_move of /);
  }));

Deno.test("file_undo knows nothing of other clients' changes, whatever id it is given", async () => {
  await using place = await makeServerPlace();
  const tokens = [await tokenFor(place), await clientFor(place)] as const;
  await using server = await startServer(place);
  const own = caller(server, () => tokens[0]);
  const other = caller(server, () => tokens[1](server.url));
  await own("file_write", { filename: "f", content: "one" });
  await own("file_write", { filename: "f", content: "two" });
  const [id = ""] = (await own("file_undo", {})).text.split(" ");
  for (const change of [id, "last", `${id}/../${id}`, ".portcullis/trash", ".."]) {
    assert.equal((await other("file_undo", { change })).ok, false, change);
  }
  assert.equal((await other("file_undo", {})).text, "No changes of yours are kept");
  assert.equal(Deno.readTextFileSync(`${place.workspaceDir}/f`), "two");
  for (const path of [".portcullis", ".portcullis/trash", `.portcullis/trash/${id}.1`, `.PORTCULLIS/trash/${id}.1`]) {
    assert.match((await other("file_read", { filename: path })).text, /reserved for the server/);
  }
});

Deno.test("file_undo judges anew what is denied, after a restart, too", async () => {
  await using place = await makeServerPlace();
  const token = await tokenFor(place);
  const callOf = (server: RunningServer) => caller(server, () => token);
  {
    await using server = await startServer(place);
    await callOf(server)("file_write", { filename: "d/keys/k", content: "one" });
    await callOf(server)("file_delete", { path: "d", recursive: true });
  }
  {
    await using server = await startServer(place, { env: { WORKSPACE_DENY: "keys" } });
    const answer = await callOf(server)("file_undo", { change: "last" });
    assert.ok(!answer.ok);
    assert.match(answer.text, /deny this name/);
  }
  await using server = await startServer(place);
  assert.ok((await callOf(server)("file_undo", { change: "last" })).ok);
  assert.equal(Deno.readTextFileSync(`${place.workspaceDir}/d/keys/k`), "one");
});

Deno.test("the audit line of a call names its change", () =>
  withFileServer({ env: { LOG_FORMAT: "json" } }, async ({ done, server }) => {
    await done("file_write", { filename: "f", content: "one" });
    const [id = ""] = (await done("file_undo", {})).text.split(" ");
    await until("the line", () => server.stderr().includes(`"change":"${id}"`));
  }));

Deno.test("with TRASH_KEEP=0 nothing is kept, file_undo is not offered, and file_delete says so", () =>
  withFileServer({ env: { TRASH_KEEP: "0" } }, async ({ done, root, server, token }) => {
    await done("file_write", { filename: "f", content: "one" });
    await done("file_write", { filename: "f", content: "two" });
    assert.equal((await done("file_delete", { path: "f" })).text, "Deleted f");
    assert.deepEqual(
      [...Deno.readDirSync(`${root}/.portcullis`)].map(({ name }) => name).filter((name) => name === "trash"),
      [],
    );
    const listed = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }, { token });
    const { result } = await listed.json();
    const names = result.tools.map(({ name }: { name: string }) => name);
    assert.ok(names.includes("file_delete") && !names.includes("file_undo"));
  }));

type Caller = (
  tool: string,
  input: Record<string, unknown>,
) => Promise<{ readonly ok: boolean; readonly text: string }>;

function caller(server: RunningServer, tokenOf: () => string | Promise<string>): Caller {
  return async (tool, input) => {
    const response = await postMcp(server.url, toolCall(tool, input), { token: await tokenOf() });
    const { result, error } = await response.json();
    return { ok: result?.isError === false, text: error?.message ?? result.content[0]?.text ?? "" };
  };
}

async function tokenFor({ dataDir }: ServerPlace): Promise<string> {
  const created = await runCommand(["token", "create", "--scope", "files:write", "--data-dir", dataDir]);
  assert.equal(created.code, 0, created.stderr);
  return created.stdout.trim();
}

/** Another client, and how it gets its token. */
async function clientFor({ dataDir }: ServerPlace): Promise<(url: string) => Promise<string>> {
  const created = await runCommand([
    ...["clients", "create", "--name", "robot", "--scope", "files:write", "--data-dir", dataDir],
  ]);
  assert.equal(created.code, 0, created.stderr);
  const [, id = "", secret = ""] = /client_id=(\S+)\nclient_secret=(\S+)/.exec(created.stdout) ?? [];
  let token: string | undefined;
  return async (url) => {
    if (token !== undefined) return token;
    const granted = await fetch(`${url}/oauth/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
      body: new URLSearchParams({ grant_type: "client_credentials", resource: `${url}/mcp` }),
    });
    const { access_token: made } = await granted.json();
    return token = made;
  };
}
