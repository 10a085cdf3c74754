/** mcporter, a command line for MCP servers: it signs in, and each call is a process of its own. */
import assert from "node:assert/strict";
import { setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { installFromNpm } from "./npm_client.ts";

/** Signs in, lists, writes, reads and fails. It cannot refresh: it asks with another client's id (RFC 6749 §6). */
export async function tryMcporter(): Promise<void> {
  await using client = await installFromNpm(["mcporter@0.12.3"]);
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { CLIENT_METADATA_DOCUMENTS: "off" } });
  const person = createPerson(server.url);
  await setUpOwner(person, server);
  await Deno.mkdir(`${client.home}/config`);
  const mcpServers = { portcullis: { url: `${server.url}/mcp`, auth: "oauth" } };
  await Deno.writeTextFile(`${client.home}/config/mcporter.json`, JSON.stringify({ mcpServers, imports: [] }));
  await client.signIn("mcporter auth portcullis --no-browser", person);
  const call = (tool: string, input: unknown): Promise<string> =>
    client.shell(`mcporter call portcullis.${tool} --args '${JSON.stringify(input)}' --output raw --no-oauth`);
  const { tools } = JSON.parse(await client.shell("mcporter list portcullis --json"));
  assert.ok((tools as { name: string }[]).some(({ name }) => name === "file_read"));
  assert.match(await call("file_write", { filename: "a.txt", content: "Grüße" }), /isError: false/);
  assert.match(await call("file_read", { filename: "a.txt" }), /Grüße/);
  assert.match(await call("file_read", { filename: "nope.txt" }), /Failed to read file[\s\S]*isError: true/);
}
