import assert from "node:assert/strict";
import { createSharedRendering } from "../../src/console/pages/console.ts";
import { connect, hiddenField, openBrowser } from "../authorization_server/harness.ts";
import { invitePerson, signInTo, startConsole } from "./harness.ts";

/** Reads events until one has what is looked for; gives the parts of that event. */
async function nextEvent(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  isWanted: (parts: Record<string, string>) => boolean,
): Promise<Record<string, string>> {
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    assert.ok(!done, "the stream ended");
    text += new TextDecoder().decode(value);
    for (const [, data = ""] of text.matchAll(/^data: (.*)\n\n/gm)) {
      const parts = JSON.parse(data);
      if (isWanted(parts)) return parts;
    }
  }
}

Deno.test("an open page gets what changed, escaped, and no more once the person is signed out", async () => {
  await using harness = await startConsole();
  const owner = await signInTo(harness);
  const response = await owner.get("/console/events?section=connections");
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const reader = response.body?.getReader();
  assert.ok(reader);
  await nextEvent(reader, ({ grants = "" }) => grants.includes("No client has access"));
  await connect(harness, { client_name: "<img src=x> app" });
  const { grants, tokens } = await nextEvent(reader, ({ grants = "" }) => grants.includes("app"));
  assert.ok(grants?.includes("&lt;img src=x&gt; app"));
  assert.equal(tokens, undefined, "what did not change is not sent again");
  const csrf = hiddenField(await (await owner.get("/console")).text(), "csrf");
  assert.equal((await owner.post("/oauth/sign-out", { csrf })).status, 200);
  while (!(await reader.read()).done);
});

Deno.test("streams of one person are bounded, and there are none of closed or unknown pages", async () => {
  await using harness = await startConsole();
  const owner = await signInTo(harness);
  const open: Response[] = [];
  for (;;) {
    const response = await owner.get("/console/events?section=connections");
    if (response.status === 503) break;
    open.push(response);
    assert.ok(open.length <= 100);
  }
  assert.equal(open.length, 8);
  await open[0]?.body?.cancel();
  const again = await owner.get("/console/events?section=connections");
  assert.equal(again.status, 200);
  await Promise.all([...open.slice(1), again].map((response) => response.body?.cancel()));
  for (const section of ["nothing", "settings", "constructor"]) {
    assert.equal((await owner.get(`/console/events?section=${section}`)).status, 404, section);
  }
  const secret = await invitePerson(harness, owner, "ada");
  const ada = await signInTo(harness, { username: "ada", secret });
  assert.equal((await ada.get("/console/events?section=people")).status, 404);
  assert.equal((await openBrowser(harness).get("/console/events?section=connections")).status, 401);
});

Deno.test("the parts of a page are rendered once for all who watch it, and the dearer the rarer", async () => {
  let now = 1_000;
  const rendering = createSharedRendering(() => now);
  let renderings = 0;
  const render = async () => {
    renderings++;
    await Promise.resolve();
    now += 40;
    return {};
  };
  await Promise.all(Array.from({ length: 8 }, () => rendering("a page", 0, render)));
  assert.equal(renderings, 1);
  now += 700;
  await rendering("a page", 0, render);
  assert.equal(renderings, 1, "it took 40 ms, so it is good for 800");
  now += 100;
  await rendering("a page", 0, render);
  assert.equal(renderings, 2);
  await rendering("the page of another browser", 0, render);
  assert.equal(renderings, 3);
  now += 1_400;
  await rendering("the page of another browser", 0, render);
  assert.equal(renderings, 3, "with two pages, each is good for twice as long");
  await rendering("a page", now, render);
  assert.equal(renderings, 4, "a stream that was opened later gets nothing from before");
});
