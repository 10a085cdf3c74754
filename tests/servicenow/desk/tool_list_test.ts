import assert from "node:assert/strict";
import { createToolRegistry } from "../../../src/mcp/registry.ts";
import { toFlatSchema } from "../../../src/mcp/tool_schema.ts";
import { offeredScopes } from "../../../src/lib/scopes.ts";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { openDesk } from "./desk_place.ts";

const maxTokens = 1_900;
const maxTools = 12;

Deno.test("the ServiceNow tools are twelve at most, in fewer than 1,900 tokens with titles and annotations", async () => {
  await using desk = await openDesk({ people: [] });
  const listed = desk.tools.filter(({ unlisted }) => unlisted !== true);
  assert.ok(listed.length <= maxTools);
  assert.ok(desk.tokens() < maxTokens, String(desk.tokens()));
});

Deno.test("the ServiceNow tools have flat primitive inputs and short names, the same for ServiceNow's own agents", async () => {
  await using desk = await openDesk({ people: [] });
  const known = new Set(offeredScopes({ servicenow: "write" }));
  for (const { tool: { name, scopes }, inputSchema } of createToolRegistry(desk.tools).all()) {
    assert.match(name, /^servicenow_[a-z_]{1,38}$/);
    for (const scope of scopes) assert.ok(known.has(scope), scope);
    const { properties = {} } = inputSchema as {
      readonly properties?: Readonly<Record<string, { readonly type?: string }>>;
    };
    for (const [parameter, { type }] of Object.entries(properties)) {
      assert.ok(["string", "integer", "boolean"].includes(type ?? ""), `${name}.${parameter} is ${type}`);
    }
    assert.deepEqual(toFlatSchema(inputSchema), inputSchema, name);
  }
});

Deno.test("tools that write are offered only when the operator turned writing on, and say so", async () => {
  await using on = await openDesk({ people: [] });
  await using off = await openDesk({ people: [], writing: false });
  assert.ok(!off.tools.some(({ scopes }) => scopes.includes("servicenow:write")));
  for (const { name, annotations, scopes } of on.tools) {
    const changes = scopes.includes("servicenow:write") || scopes.includes("files:write");
    assert.equal(annotations.readOnlyHint, !changes, name);
  }
});

Deno.test("former names run, and are not listed", async () => {
  await using desk = await openDesk();
  assert.match(await desk.text("servicenow_my_profile", {}), /user_name: ada/);
  const listed = await desk.text("servicenow_list_attachments", { table: "incident", id: "INC0010001" });
  assert.equal(listed, `mx-01.log: 22 bytes, attachment_id ${sysId("af")}`);
  assert.equal(
    await desk.text("servicenow_save_attachment", { attachment_id: sysId("af") }),
    "Saved mx-01.log (22 bytes)",
  );
  const created = { short_description: "The screen flickers", description: "", urgency: "2" };
  assert.match(
    await desk.text("servicenow_create_incident", created, "ben"),
    /^INC0010016 .*[^]*caller_id: Ben Bitdiddle/,
  );
  assert.match(
    await desk.text("servicenow_add_attachment", { table: "incident", id: "INC0010001", filename: "mx-01.log" }),
    /^Attached mx-01\.log/,
  );
  const search = { table: "incident", text: "email", state: "2", active: true, limit: 4, offset: 0, descending: true };
  assert.match(await desk.text("servicenow_search", search), /INC0010001/);
  assert.match(await desk.text("servicenow_search", { table: "catalog", text: "laptop" }), /Standard Laptop/);
  const former = desk.tools.filter(({ unlisted }) => unlisted === true).map(({ name }) => name);
  assert.equal(former.length, 6);
});

Deno.test("every tool tells an agent whose user has not linked an account what to do, and asks nothing upstream", async () => {
  await using desk = await openDesk({ people: [] });
  await Deno.writeTextFile(`${desk.root}/a.txt`, "a");
  const common = {
    ...{ table: "incident", id: "INC0010001", text: "x", audience: "team", values: "urgency=1" },
    ...{ decision: "approve", item: "Standard Laptop", filename: "a.txt", attachment_id: sysId("af") },
    ...{ short_description: "x" },
  };
  for (const tool of createToolRegistry(desk.tools).all()) {
    const input = Object.fromEntries(Object.entries(common).filter(([name]) => tool.parameters.has(name)));
    const { short_description: _, ...plain } = input as typeof input & { readonly short_description?: string };
    const said = await desk.text(tool.tool.name, tool.tool.unlisted === true ? input : plain, "stranger");
    assert.match(said, /not_linked\): Authentication required\. .*open https:\/\/mcp\.example\.com\/servicenow\/link/);
  }
  assert.equal(desk.instance.requests.length, 0);
});
