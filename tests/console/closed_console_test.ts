/** What the console does not do: nothing where it is off, nothing for people who are not there. */
import assert from "node:assert/strict";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";

const pages = [
  "",
  "/live",
  "/connections",
  "/decisions",
  "/rules",
  "/people",
  "/audit",
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
    assert.match(html, /no longer kept, or there is none such/);
  }
  const after = (await Array.fromAsync(Deno.readDir(place.workspaceDir))).map(({ name }) => name);
  assert.deepEqual(after.filter((name) => name !== "owner"), before);
});
