/** A past call that is opened in Activity: its arguments, its trace, and the way to its difference and its undo. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { decodeEntities } from "../fixtures/person.ts";
import { until } from "../fixtures/until.ts";
import { startDesk } from "./desk.ts";

Deno.test("a call opened shows arguments, trace, difference and undo, and texts that were written as their size", async () => {
  await using desk = await startDesk();
  const { owner, server, token } = desk;
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  const input = { filename: "a&b.txt", content: "private words", mode: "create" };
  await (await postMcp(server.url, toolCall("file_write", input), { token, headers })).text();
  const opened = await until("the call is stored", async () => {
    const { html } = await desk.page("activity?tool=file_write");
    return /<details id="line-[^]*?<\/details>/.exec(html)?.[0] ?? null;
  });
  const facts = ["filename: a&amp;b.txt", "content: 13 characters", "mode: create", `Trace ${traceId}`];
  for (const fact of facts) assert.ok(opened.includes(`>${fact.replace(/ (.*)/, " <code>$1</code>")}<`), opened);
  assert.ok(!opened.includes("private"), opened);
  const link = /<a href="([^"]+)">Difference and undo/.exec(opened)?.[1] ?? assert.fail(opened);
  const change = await owner.open(new URL(decodeEntities(link), server.url));
  assert.match(change.html, /private words/);
  assert.match((await owner.submit(change, {}, 'value="undo"')).html, /Undid file_write/);
});
