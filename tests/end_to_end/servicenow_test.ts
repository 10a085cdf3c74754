/** ServiceNow records through the started server: people sign in at the instance, and each sees what is theirs. */
import assert from "node:assert/strict";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { freePort } from "../fixtures/free_port.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { startServicenow } from "../fixtures/servicenow/instance.ts";
import { connectAs } from "../fixtures/servicenow/client.ts";

async function readJson(client: Client, uri: string): Promise<Record<string, unknown>> {
  const { contents: [content] } = await client.readResource({ uri });
  assert.equal(content?.mimeType, "application/json");
  return JSON.parse(content !== undefined && "text" in content ? String(content.text) : "");
}

Deno.test("SIGN_IN=servicenow: two people of different rights see different records through one server", async () => {
  const port = freePort();
  await using instance = await startServicenow({ redirectUri: `http://127.0.0.1:${port}/servicenow/callback` });
  await using place = await makeServerPlace();
  await using server = await startServer(place, {
    args: ["--port", String(port)],
    env: {
      SERVICENOW_INSTANCE: instance.origin,
      SERVICENOW_CLIENT_ID: instance.client.clientId,
      SERVICENOW_CLIENT_SECRET: instance.client.clientSecret,
      SIGN_IN: "servicenow",
    },
  });
  const [ada, ben] = [await connectAs(server, instance, "ada"), await connectAs(server, instance, "ben")];

  // The source document's own examples.
  const { resources } = await ada.listResources();
  assert.ok(
    resources.some(({ uri, name }: { uri: string; name: string }) =>
      uri === "servicenow://me" && name === "my_profile"
    ),
  );
  const { resourceTemplates } = await ada.listResourceTemplates();
  const templates = resourceTemplates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate);
  for (const kind of ["incident", "change_request", "kb_knowledge", "catalog"]) {
    assert.ok(templates.includes(`servicenow://${kind}/{sys_id}`), kind);
  }
  assert.equal((await readJson(ada, "servicenow://me"))["user_name"], "ada");
  assert.equal((await readJson(ben, "servicenow://me"))["user_name"], "ben");
  assert.equal((await readJson(ada, "servicenow://incident/not-an-id"))["error"], "Invalid sys_id format");

  const numbersOf = async (client: Client): Promise<string[]> => {
    const found = await client.callTool({ name: "servicenow_search", arguments: { table: "incident" } });
    assert.equal(found.isError, false, JSON.stringify(found.content));
    return [...new Set(JSON.stringify(found.content).match(/INC\d{7}/g))].sort();
  };
  const [seenByAda, seenByBen] = [await numbersOf(ada), await numbersOf(ben)];
  assert.ok(seenByAda.length > seenByBen.length, "what the instance hides from a person is not there");
  const hidden = seenByAda.find((number) => !seenByBen.includes(number)) ?? "";
  assert.equal((await readJson(ada, `servicenow://incident/${hidden}`))["number"], hidden);
  assert.equal((await readJson(ben, `servicenow://incident/${hidden}`))["error"], "Record not found");

  // Writing is off, so there is neither a tool nor a scope for it.
  const tools = (await ada.listTools()).tools.map(({ name }: { name: string }) => name);
  assert.ok(tools.includes("servicenow_get_record") && !tools.includes("servicenow_create"));
  const metadata = await (await fetch(`${server.url}/.well-known/oauth-protected-resource`)).json();
  assert.ok(metadata.scopes_supported.includes("servicenow:read"));
  assert.ok(!metadata.scopes_supported.includes("servicenow:write"));
  assert.equal((await ada.listPrompts()).prompts.length, 3);

  // The instance ends Ben's sign-in: his agent is told in words where to go, and our own token stays good.
  instance.oauth.endTokensOf("ben");
  const expired = await ben.callTool({ name: "servicenow_get_record", arguments: { id: "me" } });
  assert.equal(expired.isError, true);
  assert.match(
    JSON.stringify(expired.content),
    new RegExp(`Authentication (expired|required).*${server.url}/servicenow/link`),
  );
  assert.ok((await ben.listTools()).tools.length > 0);
  await Promise.all([ada.close(), ben.close()]);
  for (const secret of [instance.client.clientSecret, "ada-secret"]) assert.ok(!server.stderr().includes(secret));
});
