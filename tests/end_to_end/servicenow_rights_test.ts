/** What keeps people and tokens apart when agents use ServiceNow through the started server. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { createPerson } from "../fixtures/person.ts";
import { startServicenowServer } from "../fixtures/servicenow/server.ts";

const everything = "files:read files:write servicenow:read servicenow:write";

interface ToolAnswer {
  readonly isError: boolean;
  readonly content: readonly { readonly text: string }[];
}

async function call(url: string, token: string, name: string, input: Record<string, unknown>): Promise<ToolAnswer> {
  const headers = { "mcp-protocol-version": "2025-06-18", accept: "application/json" };
  const answer = await postMcp(url, toolCall(name, input), { token, headers });
  assert.equal(answer.status, 200);
  return (await answer.json()).result;
}

async function read(url: string, token: string, uri: string): Promise<Record<string, unknown>> {
  const message = { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri } };
  const headers = { "mcp-protocol-version": "2025-06-18", accept: "application/json" };
  const answer = await postMcp(url, message, { token, headers });
  assert.equal(answer.status, 200);
  return JSON.parse((await answer.json()).result.contents[0].text);
}

Deno.test("two people write and fetch files in their own names, and no token crosses the server", async () => {
  await using place = await startServicenowServer();
  const { server: { url, stderr }, instance } = place;
  const [ada, ben] = [await place.signIn("ada", everything), await place.signIn("ben", everything)];
  const created = await call(url, ben, "servicenow_create", {
    table: "incident",
    values: "short_description=It flickers",
  });
  assert.match(created.content[0]?.text ?? "", /caller_id: Ben Bitdiddle/);
  const attachment = { id: "INC0010001" };
  assert.equal((await call(url, ben, "servicenow_fetch_attachment", attachment)).isError, true);
  assert.equal((await call(url, ada, "servicenow_fetch_attachment", attachment)).isError, false);
  const saved = await call(url, ada, "file_read", { filename: "mx-01.log" });
  assert.match(saved.content[0]?.text ?? "", /disk 100% full/);

  const upstream = instance.requests.flatMap(({ headers }) => headers["authorization"] ?? []);
  assert.ok(upstream.length > 0);
  for (const ours of [ada, ben]) assert.ok(upstream.every((value) => !value.includes(ours)));
  for (const theirs of new Set(upstream)) {
    const token = theirs.replace("Bearer ", "");
    const answer = await postMcp(url, { jsonrpc: "2.0", id: 1, method: "tools/list" }, { token });
    assert.equal(answer.status, 401);
    await answer.body?.cancel();
    assert.ok(!stderr().includes(token));
  }
});

Deno.test("an expired link is mended on the page that the words name", async () => {
  await using place = await startServicenowServer();
  const { server: { url }, instance } = place;
  const ada = await place.signIn("ada", everything);
  instance.oauth.endTokensOf("ada");
  const expired = await read(url, ada, "servicenow://me");
  assert.equal(expired["error"], "Authentication expired");
  const page = /https?:\S+\/servicenow\/link/.exec(String(expired["detail"]))?.[0] ?? "";
  assert.equal(page, `${url}/servicenow/link`);
  const person = createPerson(url);
  const sent = await person.open(page);
  const back = await person.open(await instance.approve(sent.url.href, "ada"));
  assert.match(back.html, /Ada Lovelace \(ada\)/);
  assert.equal((await read(url, ada, "servicenow://me"))["user_name"], "ada");
});

Deno.test("without servicenow:read nothing of ServiceNow is read: 403 with the scope that is lacking", async () => {
  await using place = await startServicenowServer();
  const { url } = place.server;
  const token = await place.signIn("ada", "files:read");
  for (
    const message of [
      toolCall("servicenow_search", { table: "incident" }),
      { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: "servicenow://me" } },
    ]
  ) {
    const answer = await postMcp(url, message, { token, headers: { "mcp-protocol-version": "2025-06-18" } });
    assert.equal(answer.status, 403);
    assert.match(answer.headers.get("www-authenticate") ?? "", /insufficient_scope.*servicenow:read/);
    await answer.body?.cancel();
  }
});
