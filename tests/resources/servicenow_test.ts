import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Principal } from "../../src/lib/principal.ts";
import type { Resource, ResourceFamily } from "../../src/mcp/resource.ts";
import type { ToolContext } from "../../src/mcp/tool.ts";
import { servicenowResources } from "../../src/servicenow/servicenow_offer.ts";
import { quietCaller } from "../fixtures/quiet_context.ts";
import { sysId } from "../fixtures/servicenow/world.ts";
import type { FaultName } from "../fixtures/servicenow/faults.ts";
import { principalOf } from "../servicenow/principal.ts";
import { openPlace, patientTimes } from "../servicenow/place.ts";

const contextOf = (principal: Principal): ToolContext => ({
  ...quietCaller,
  principal,
  signal: new AbortController().signal,
  progress: () => {},
});

async function readJson(
  family: ResourceFamily,
  uri: string,
  principal: Principal = principalOf("one"),
): Promise<Record<string, unknown>> {
  const outcome = await family.read(uri, contextOf(principal));
  const [content, ...others] = outcome !== null && "contents" in outcome ? outcome.contents : [];
  assert.deepEqual(others, []);
  assert.equal(content?.uri, uri);
  assert.equal(content.mimeType, "application/json");
  const text = "text" in content ? content.text : "";
  assert.match(text, /^\{\n {2}"/, "two-space indent");
  return JSON.parse(text);
}

Deno.test("the document's own examples run with the SDK client (seed 001)", async () => {
  await using place = await openPlace();
  place.instance.tables.get("incident")?.set("a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4", {
    ...place.instance.tables.get("incident")?.get(sysId("1c", 1)),
    sys_id: "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4",
  });
  await place.link("one", "ada");
  const family = servicenowResources(place.servicenow);
  const server = new Server({ name: "test", version: "1" }, { capabilities: { resources: {} } });
  server.setRequestHandler(ListResourcesRequestSchema, async () => ({
    resources: [...await family.list(principalOf("one"))],
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [...family.templates] }));
  server.setRequestHandler(ReadResourceRequestSchema, async (
    { params }: { readonly params: { readonly uri: string } },
    { signal }: { readonly signal: AbortSignal },
  ) => {
    const outcome = await family.read(params.uri, { ...contextOf(principalOf("one")), signal });
    return { contents: outcome !== null && "contents" in outcome ? [...outcome.contents] : [] };
  });
  const client = new Client({ name: "test", version: "1" });
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(serverSide), client.connect(clientSide)]);

  const { resources } = await client.listResources();
  const listed: readonly Resource[] = resources;
  assert.deepEqual(listed.map(({ name, uri }) => [name, uri]), [["my_profile", "servicenow://me"]]);
  const { resourceTemplates } = await client.listResourceTemplates();
  const templates: ResourceFamily["templates"] = resourceTemplates;
  assert.deepEqual(
    templates.map(({ name, uriTemplate }) => [name, uriTemplate]),
    ["incident", "change_request", "kb_knowledge", "catalog"].map((name) => [name, `servicenow://${name}/{sys_id}`]),
  );
  for (const { description, mimeType } of [...listed, ...templates]) {
    assert.ok(description);
    assert.equal(mimeType, "application/json");
  }

  const result = await client.readResource({ uri: "servicenow://me" });
  const profile = result.contents[0];
  assert.equal(JSON.parse(profile !== undefined && "text" in profile ? profile.text : "").user_name, "ada");
  const incident = await client.readResource({
    uri: "servicenow://incident/a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4",
  });
  const record = incident.contents[0];
  assert.equal(
    JSON.parse(record !== undefined && "text" in record ? record.text : "").short_description,
    "Email server is down",
  );
  await client.close();
});

Deno.test("read() gives each kind of record as JSON, by sys_id or number", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  const family = servicenowResources(place.servicenow);
  for (
    const [uri, field, value] of [
      [`servicenow://incident/${sysId("1c", 1)}`, "number", "INC0010001"],
      ["servicenow://incident/INC0010001", "sys_id", sysId("1c", 1)],
      [`servicenow://change_request/${sysId("c4")}`, "number", "CHG0030001"],
      ["servicenow://change_request/CHG0030001", "sys_id", sysId("c4")],
      [`servicenow://kb_knowledge/${sysId("b7")}`, "number", "KB0010001"],
      ["servicenow://kb_knowledge/KB0010001", "sys_id", sysId("b7")],
      [`servicenow://catalog/${sysId("5c")}`, "name", "Standard Laptop"],
    ] as const
  ) {
    const record = await readJson(family, uri);
    assert.equal(record[field], value, uri);
    assert.match(String(record["self_link"]), /^http:/);
  }
});

Deno.test("read() answers with the current state and changes nothing", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  const family = servicenowResources(place.servicenow);
  const uri = `servicenow://incident/${sysId("1c", 1)}`;
  assert.equal((await readJson(family, uri))["short_description"], "Email server is down");
  const record = place.instance.tables.get("incident")?.get(sysId("1c", 1));
  assert.ok(record);
  record["short_description"] = "Email is back";
  assert.equal((await readJson(family, uri))["short_description"], "Email is back");
  assert.ok(place.instance.requests.every(({ method }) => method === "GET"));
});

Deno.test("read() refuses a malformed sys_id before any call", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  const family = servicenowResources(place.servicenow);
  for (const id of ["", "123", "x".repeat(32), `${sysId("1c", 1)}0`, `${"1c".repeat(16)}?x=1`, "%31c", "INC1 OR 1"]) {
    const { error } = await readJson(family, `servicenow://incident/${id}`);
    assert.equal(error, "Invalid sys_id format", id);
  }
  assert.equal((await readJson(family, "servicenow://catalog/INC0010001"))["error"], "Invalid sys_id format");
  for (const uri of ["servicenow://", "servicenow://sys_user/x", "servicenow://me/x", "servicenow://incident/a/b"]) {
    assert.equal((await readJson(family, uri))["error"], "Unknown resource", uri);
  }
  assert.equal(place.instance.requests.length, 0);
});

Deno.test("read() answers every failure with JSON content and the documented message", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  const family = servicenowResources(place.servicenow);
  const impatient = servicenowResources(place.another({ times: { ...patientTimes, requestMs: 400 } }));
  const uri = `servicenow://incident/${sysId("1c", 1)}`;
  for (
    const [fault, message] of [
      ["not_found", "Record not found"],
      ["api_forbidden", "Insufficient permissions"],
      ["unauthorized", "Authentication expired"],
      ["hibernating", "ServiceNow unavailable"],
      ["sso_redirect", "ServiceNow unavailable"],
      ["server_error", "ServiceNow unavailable"],
      ["not_json", "ServiceNow unavailable"],
      ["silence", "ServiceNow unavailable"],
      ["huge_record", "Record too large"],
      ["rate_limited", "Rate limited by ServiceNow"],
    ] as const satisfies readonly (readonly [FaultName, string])[]
  ) {
    place.instance.faults.play(fault, { times: 9 });
    const content = await readJson(fault === "silence" ? impatient : family, uri);
    assert.equal(content["error"], message, fault);
    assert.ok(String(content["detail"]).length > 10, fault);
    place.instance.faults.clear();
  }
});

Deno.test("read() tells apart a person who never linked and one whose link ended", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  const family = servicenowResources(place.servicenow);
  assert.equal((await readJson(family, "servicenow://me", principalOf("two")))["error"], "Authentication required");
  place.instance.oauth.endTokensOf("ada");
  const ended = await readJson(family, "servicenow://me");
  assert.equal(ended["error"], "Authentication expired");
  assert.match(String(ended["detail"]), /open https:\/\/mcp\.example\.com\/servicenow\/link/);
});

Deno.test("read() needs the scope servicenow:read", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  const content = await readJson(
    servicenowResources(place.servicenow),
    "servicenow://me",
    principalOf("one", ["files:read"]),
  );
  assert.equal(content["error"], "Insufficient permissions");
  assert.match(String(content["detail"]), /lacks the scope servicenow:read/);
  assert.equal(place.instance.requests.length, 0);
});
