/** The audit line of a call says which client called, in words. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

Deno.test("a call's line in the log names the client, on one line, without signs that a terminal obeys, cut to a length", async () => {
  await using place = await makeServerPlace();
  const name = `Nightly "job"\u202E\u0085 ${"x".repeat(80)}`;
  const created = await runCommand([
    ...["clients", "create", "--name", name, "--scope", "files:read", "--data-dir", place.dataDir],
  ]);
  assert.equal(created.code, 0, created.stderr);
  const [, id = "", secret = ""] = /client_id=(\S+)\nclient_secret=(\S+)/.exec(created.stdout) ?? [];
  const shown = String.raw`client="Nightly \"job\" ${"x".repeat(46)}"`;
  for (const [format, expected] of [["text", shown], ["json", shown.replace("client=", '"client":')]] as const) {
    await using server = await startServer(place, { env: { LOG_FORMAT: format } });
    const granted = await fetch(`${server.url}/oauth/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
      body: new URLSearchParams({ grant_type: "client_credentials", resource: `${server.url}/mcp` }),
    });
    const { access_token: token } = await granted.json();
    const answer = await postMcp(server.url, toolCall("file_list", {}), { token });
    assert.equal(answer.status, 200, await answer.text());
    const line = () => server.stderr().split("\n").find((each) => each.includes("file_list")) ?? "";
    await until("the call's line", () => line() !== "");
    assert.ok(line().includes(expected), line());
  }
});
