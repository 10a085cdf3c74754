import assert from "node:assert/strict";
import { createToolRegistry, nearestTool, toFlatSchema } from "../../../src/mcp/registry.ts";
import { offeredScopes } from "../../../src/lib/principal.ts";
import { principalWith } from "../../mcp/harness.ts";
import { openDesk } from "./desk_place.ts";

const maxTokens = 1_900;
const maxTools = 12;

Deno.test("the ServiceNow tools are twelve at most, in fewer than 1,900 tokens with titles and annotations", async () => {
  await using desk = await openDesk({ people: [] });
  assert.ok(desk.tools.length <= maxTools);
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

Deno.test("fields that agents give as parameters are values, beside those that are in values", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const update = (input: object) => desk.text("servicenow_update", { id: "INC0010001", dry_run: true, ...input });
  assert.match(await update({ urgency: 1, assignedTo: "ben" }), /urgency: .* → 1 - High\nassigned_to: .* → Ben Bit/);
  assert.match(
    await update({ urgency: "High", values: { impact: "Low" } }),
    /impact: .* → 3 - Low\nurgency: .* → 1 - High/,
  );
  for (const values of ["impact=3", { urgency: "Low" }]) {
    assert.equal(await update({ urgency: "1", values }), "refused (invalid_arguments): urgency: give it in values");
  }
  const create = { table: "incident", short_description: "Dark", caller_id: "ben", description: "", dry_run: true };
  assert.match(
    await desk.text("servicenow_create", create),
    /would get:\nshort_description: Dark\ncaller_id: Ben[^\n]*$/,
  );
});

Deno.test("a search takes parameters and a table by other names", async () => {
  await using desk = await openDesk();
  const search = { table: "incident", text: "email", state: "2", active: true, limit: 4, offset: 0 };
  assert.match(await desk.text("servicenow_search", search), /INC0010001/);
  assert.match(await desk.text("servicenow_search", { table: "catalog", text: "laptop" }), /Standard Laptop/);
});

Deno.test("an unknown ServiceNow tool names the one that does the same", async () => {
  await using desk = await openDesk({ people: [] });
  const registry = createToolRegistry(desk.tools);
  const principal = principalWith(offeredScopes({ servicenow: "write" }));
  for (
    const [asked, nearest] of [
      ["servicenow_my_profile", "servicenow_get_record"],
      ["servicenow_list_attachments", "servicenow_get_record"],
      ["servicenow_save_attachment", "servicenow_fetch_attachment"],
      ["servicenow_add_comment", "servicenow_add_note"],
      ["servicenow_create_incident", "servicenow_create"],
      ["servicenow_add_attachment", "servicenow_attach"],
      ["servicenow_serach", "servicenow_search"],
    ] as const
  ) {
    assert.equal(nearestTool(asked, registry, principal), nearest);
  }
});

Deno.test("every tool tells an agent whose user has not linked an account what to do, and asks nothing upstream", async () => {
  await using desk = await openDesk({ people: [] });
  await Deno.writeTextFile(`${desk.root}/a.txt`, "a");
  const common = {
    ...{ table: "incident", id: "INC0010001", text: "x", audience: "team", values: "urgency=1" },
    ...{ decision: "approve", item: "Standard Laptop", filename: "a.txt" },
  };
  for (const { tool, parameters } of createToolRegistry(desk.tools).all()) {
    const input = Object.fromEntries(Object.entries(common).filter(([name]) => parameters.has(name)));
    const said = await desk.text(tool.name, input, "stranger");
    assert.match(said, /not_linked\): Authentication required\. .*open https:\/\/mcp\.example\.com\/servicenow\/link/);
  }
  assert.equal(desk.instance.requests.length, 0);
});
