/** What a person's browser gets where agents get JSON: pages, from the started server. */
import assert from "node:assert/strict";
import { createPerson } from "../fixtures/person.ts";
import { setUpOwner } from "../fixtures/owner.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";

// What Chromium sends for an address that a person opens.
const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

Deno.test("/mcp and unknown addresses are pages in a browser, and what they were for everything else", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const get = async (path: string, accept: string | null, method = "GET") => {
    const headers = accept === null ? {} : { accept };
    const response = await fetch(`${server.url}${path}`, { method, headers });
    return { status: response.status, type: response.headers.get("content-type") ?? "", text: await response.text() };
  };
  for (const path of ["/mcp", "/mcp/"]) {
    const page = await get(path, browserAccept);
    assert.deepEqual([page.status, page.type], [200, "text/html; charset=utf-8"]);
    assert.ok(page.text.includes(`${server.url}/mcp`));
    assert.match(page.text, /has not been set up/);
    for (const accept of [null, "*/*", "application/json", "text/event-stream", "text/event-stream, text/html"]) {
      assert.doesNotMatch((await get(path, accept)).type, /html/, `${path} ${accept}`);
    }
    assert.doesNotMatch((await get(path, browserAccept, "DELETE")).type, /html/);
  }
  for (const path of ["/nowhere", "/oauth/nowhere", "/favicon.ico", "/mcp/nowhere", "/admin"]) {
    const page = await get(path, browserAccept);
    assert.deepEqual([page.status, page.type], [404, "text/html; charset=utf-8"], path);
    assert.match(page.text, /href="\/"/);
    assert.deepEqual(JSON.parse((await get(path, "application/json")).text), { error: "not_found" });
    assert.deepEqual(JSON.parse((await get(path, browserAccept, "POST")).text), { error: "not_found" });
  }
  const home = await get("/", "application/json", "POST");
  assert.equal(home.status, 405);
  assert.ok(home.text.includes(`${server.url}/mcp`), "a client with the bare address is told the endpoint");
});

Deno.test("before set-up the pages say so, and no longer after it", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const pages = ["/", "/mcp", "/oauth/grants"];
  const read = async (path: string) =>
    await (await fetch(`${server.url}${path}`, { headers: { accept: browserAccept } })).text();
  for (const path of pages) assert.match(await read(path), /Open the\s+set-up link/, path);
  await setUpOwner(createPerson(server.url), server);
  for (const path of pages) assert.doesNotMatch(await read(path), /set-up link/, path);
});
