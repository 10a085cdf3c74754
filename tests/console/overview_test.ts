/** The overview in one look: what waits, what changed with its undo, the day by client; and Stop on every page. */
import assert from "node:assert/strict";
import { openSignedIn } from "../fixtures/owner.ts";
import { until } from "../fixtures/until.ts";
import { type Desk, fileIn, startDesk } from "./desk.ts";
import { createPerson } from "../fixtures/person.ts";

const overview = ({ owner, server }: Desk) => openSignedIn(owner, `${server.url}/console`);

Deno.test("the overview draws the day by client, and undoes a change from its row", async () => {
  await using desk = await startDesk();
  await desk.call("file_write", { filename: "plan.md", content: "one\n" });
  await desk.call("file_write", { filename: "plan.md", content: "two\n" });
  await desk.call("file_read", { filename: "missing.md" });
  const page = await until("the calls are stored", async () => {
    const found = await overview(desk);
    return /<title>\d\d:00 UTC: 3 calls, 1 failed; a token of the command line 3<\/title>/.test(found.html)
      ? found
      : null;
  });
  assert.match(page.html, /aria-label="3 calls in the last 24 hours/);
  assert.match(page.html, /<h2>Last changes<\/h2>/);
  assert.match(page.html, /Health: (?:All is well|\d other checks?)/);
  const undone = await desk.owner.submit(page, {}, 'value="undo"');
  assert.match(undone.html, /Undid file_write of plan\.md/);
  assert.equal(await fileIn(desk, "plan.md"), "one\n");
  assert.match((await overview(desk)).html, /<span class="badge">undone<\/span>/);
});

Deno.test("someone without a connection sees the connect card alone", async () => {
  await using desk = await startDesk();
  await desk.owner.submit(await desk.page("connections"), {}, 'value="end"');
  const { html } = await overview(desk);
  assert.ok(html.includes("Waiting for your first connection") && !/<h2>Last changes|Health:/.test(html), html);
});

Deno.test("each page has one script, and with its stylesheets it is within 40 kB", async () => {
  await using desk = await startDesk();
  for (const name of ["", "activity", "decisions", "connections", "why", "files", "settings", "people", "rules"]) {
    const { html } = await openSignedIn(desk.owner, `${desk.server.url}/console${name === "" ? "" : `/${name}`}`);
    const own = [...html.matchAll(/<(script|style)>([^]*?)<\/\1>/g)];
    assert.equal(own.filter(([, kind]) => kind === "script").length, 1, name);
    const bytes = own.reduce((sum, [, , text = ""]) => sum + new TextEncoder().encode(text).length, 0);
    assert.ok(bytes > 10_000 && bytes < 40_000, `${name}: ${bytes}`);
  }
});

Deno.test("Stop is on every page of an administrator, and says what was running", async () => {
  await using desk = await startDesk();
  await desk.rule({ tool: "file_delete", verdict: "ask" });
  await desk.call("file_write", { filename: "a.txt", content: "x" });
  const waiting = desk.call("file_delete", { path: "a.txt" });
  await until("the call waits", async () => (await desk.page("decisions")).html.includes("<article") || null);
  for (const name of ["activity", "decisions", "connections", "why", "files", "settings", "people", "rules"]) {
    assert.match((await desk.page(name)).html, /aria-label="Stop everything"/, name);
  }
  const stopped = await desk.owner.submit(await desk.page("people"), {}, 'aria-label="Stop everything"');
  assert.match(stopped.html, /All calls are stopped\. Running were file_delete of a token of the command line\./);
  assert.ok((await waiting).isError);
  assert.doesNotMatch((await desk.page("people")).html, /Stop everything/);
  await desk.owner.submit(await desk.page("activity"), {}, 'value="start"');
  // of someone whose session has ended, Stop goes through the sign-in
  const later = createPerson(desk.server.url);
  const opened = await openSignedIn(later, `${desk.server.url}/console`);
  await later.submit(opened, {}, ">Sign out<");
  const asked = await later.submit(opened, {}, 'aria-label="Stop everything"');
  assert.match(asked.html, /Passphrase/);
});

Deno.test("each page of the console that the overview leads to is there, and no address fails", async () => {
  await using desk = await startDesk();
  const { html } = await overview(desk);
  const pages = new Set(Array.from(html.matchAll(/href="(\/console[a-z/]*)/g), ([, path = ""]) => path));
  assert.ok(pages.size >= 6, [...pages].join(" "));
  for (const path of pages) assert.equal((await desk.owner.open(`${desk.server.url}${path}`)).status, 200, path);
  for (const name of ["live", "audit", "change", "why", "servicenow", "nothing"]) {
    const { status } = await desk.owner.open(`${desk.server.url}/console/${name}`);
    assert.ok(status < 500, `${name}: ${status}`);
  }
});
