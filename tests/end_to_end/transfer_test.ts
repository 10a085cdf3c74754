/** Files in and out by link on each way to run the server: between instances, across a restart, each person's own. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type ServerPlace, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

const content = new Uint8Array(3_000_000).map((_, index) => index % 251);

async function call(url: string, token: string, name: string, input: Record<string, unknown>) {
  const response = await postMcp(url, toolCall(name, input), { token });
  const { result } = await response.json();
  assert.equal(result.isError, false, JSON.stringify(result));
  return result.structuredContent;
}

async function tokenAt({ dataDir }: ServerPlace, ...more: string[]): Promise<string> {
  const made = await runCommand(["token", "create", "--scope", "files:write", "--data-dir", dataDir, ...more]);
  assert.equal(made.code, 0, made.stderr);
  return made.stdout.trim();
}

async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  const response = await fetch(url, init);
  await response.body?.cancel();
  return response.status;
}

Deno.test("a file goes in and out by links, over any instance, and each link is good once", async () => {
  await using place = await makeServerPlace();
  const token = await tokenAt(place);
  await using server = await startServer(place);
  const { url: upload } = await call(server.url, token, "file_write", { filename: "in/a.bin", link: true });
  assert.ok(upload.startsWith(`${server.url}/files/`), upload);
  assert.equal(await statusOf(upload, { method: "PUT", body: content }), 201);
  assert.equal(await statusOf(upload, { method: "PUT", body: content }), 404);
  const { url } = await call(server.url, token, "file_read", { filename: "in/a.bin", link: true });
  const response = await fetch(url, { headers: { range: "bytes=0-9" } });
  assert.equal(response.status, 200, "a link gives its file whole");
  assert.deepEqual(new Uint8Array(await response.arrayBuffer()), content);
  await until("the link is used up", async () => await statusOf(url) === 404);
});

Deno.test("links outlive a restart, and what it denies from then on is denied to them", async () => {
  await using place = await makeServerPlace();
  const token = await tokenAt(place);
  const links: string[] = [];
  {
    await using server = await startServer(place);
    for (const filename of ["a.txt", "b.pem"]) {
      await call(server.url, token, "file_write", { filename, content: filename });
      const { url } = await call(server.url, token, "file_read", { filename, link: true });
      links.push(new URL(url).pathname);
    }
    const { url } = await call(server.url, token, "file_write", { filename: "c.pem", link: true });
    links.push(new URL(url).pathname);
  }
  await using server = await startServer(place, { env: { WORKSPACE_DENY: "*.pem" } });
  const [plain = "", denied = "", upload = ""] = links;
  assert.equal(await (await fetch(server.url + plain)).text(), "a.txt");
  const refused = await fetch(server.url + denied);
  assert.equal(refused.status, 403);
  assert.match(await refused.text(), /settings deny this name/);
  assert.equal(await statusOf(server.url + upload, { method: "PUT", body: "c" }), 403);
});

Deno.test("with WORKSPACES=per-user a link reaches the files of the person who made it", async () => {
  await using place = await makeServerPlace();
  const added = await runCommand(["users", "add", "ada", "--data-dir", place.dataDir], {
    stdin: "correct horse battery\ncorrect horse battery\n",
  });
  assert.equal(added.code, 0, added.stderr);
  const [owner, ada] = [await tokenAt(place), await tokenAt(place, "--user", "ada")];
  await using server = await startServer(place, { env: { WORKSPACES: "per-user" } });
  const { url: upload } = await call(server.url, ada, "file_write", { filename: "a.txt", link: true });
  const withOthersToken = { authorization: `Bearer ${owner}` };
  assert.equal(await statusOf(upload, { method: "PUT", body: "ada's", headers: withOthersToken }), 201);
  await call(server.url, owner, "file_write", { filename: "a.txt", content: "the owner's" });
  const { url } = await call(server.url, ada, "file_read", { filename: "a.txt", link: true });
  assert.equal(await (await fetch(url, { headers: withOthersToken })).text(), "ada's");
  const { url: late } = await call(server.url, ada, "file_read", { filename: "a.txt", link: true });
  const disabled = await runCommand(["users", "disable", "ada", "--data-dir", place.dataDir]);
  assert.equal(disabled.code, 0, disabled.stderr);
  assert.equal(await statusOf(late), 403);
});
