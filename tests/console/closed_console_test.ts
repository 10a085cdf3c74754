/** What the console does not do: nothing where it is off, nothing for people who are not there. */
import assert from "node:assert/strict";
import { postMcp } from "../fixtures/mcp_call.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { callTool, createToken } from "./desk.ts";

const pages = [
  "",
  "/activity",
  "/connections",
  "/decisions",
  "/rules",
  "/people",
  "/change",
  "/settings",
  "/events",
];

Deno.test("with CONSOLE=off no page of the console is there, for reading or posting", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { CONSOLE: "off" } });
  const owner = createPerson(server.url);
  await setUpOwner(owner, server);
  const { html } = await openSignedIn(owner, `${server.url}/oauth/grants`);
  assert.ok(!html.includes("/console"), html);
  for (const page of pages) {
    for (const method of ["GET", "HEAD", "POST", "PUT"]) {
      const answer = await fetch(`${server.url}/console${page}`, { method, redirect: "manual" });
      await answer.body?.cancel();
      assert.equal(answer.status, 404, `${method} ${page}`);
    }
  }
});

Deno.test("with CONSOLE=off the start warns of rules that hold calls, and these calls are refused at once", async () => {
  await using place = await makeServerPlace();
  const token = await createToken(place, "owner");
  const input = { filename: "a.txt", content: "x" };
  {
    await using server = await startServer(place);
    const owner = createPerson(server.url);
    await setUpOwner(owner, server);
    const rules = `${server.url}/console/rules`;
    await owner.submit(await openSignedIn(owner, rules), {}, 'value="guard"');
    await owner.submit(await owner.open(rules), { place: "held", verdict: "ask" }, 'value="add"');
    assert.doesNotMatch(server.stderr(), /no_approval_page/);
  }
  await using server = await startServer(place, { env: { CONSOLE: "off" } });
  assert.match(server.stderr(), /no_approval_page.*CONSOLE=off/);
  const call = (tool: string, values: Record<string, unknown>) => callTool(server, token, tool, values);
  for (const each of [input, input]) {
    const { text, isError } = await call("file_write", each);
    assert.ok(isError && /switched off on this server \(CONSOLE=off\)/.test(text) && !text.includes("/console"), text);
  }
  assert.match((await call("file_delete", { path: "held" })).text, /CONSOLE=off/);
  assert.match((await call("file_read", { filename: "held/b.txt" })).text, /CONSOLE=off/);
  assert.doesNotMatch((await call("file_read", { filename: "a.txt" })).text, /CONSOLE=off/, "nothing was written");
  const read = { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: "workspace:///held/b.txt" } };
  assert.match(await (await postMcp(server.url, read, { token })).text(), /owner of this server does not allow/);
});

Deno.test("a look at changes of people who are not there leaves nothing behind", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { WORKSPACES: "per-user" } });
  const owner = createPerson(server.url);
  await setUpOwner(owner, server);
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  const before = (await Array.fromAsync(Deno.readDir(place.workspaceDir))).map(({ name }) => name);
  for (const person of ["no-such-person", "../../x", "a/b", "__proto__", "x".repeat(3_000)]) {
    const query = new URLSearchParams({ person, id: "0mwsa1ibaf61f5d" });
    const { html } = await openSignedIn(owner, `${server.url}/console/change?${query}`);
    assert.match(html, /is not kept any more, or does not exist/);
  }
  const after = (await Array.fromAsync(Deno.readDir(place.workspaceDir))).map(({ name }) => name);
  assert.deepEqual(after.filter((name) => name !== "owner"), before);
});
