/** Each ServiceNow tool once through the started server, as ServiceNow's own client calls it. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startServicenowServer } from "../fixtures/servicenow/server.ts";

const everything = "files:read files:write servicenow:read servicenow:write";
const headers = { "mcp-protocol-version": "2025-06-18", accept: "application/json" };

Deno.test("a service desk's day over HTTP: find, read, write, order, approve, files", async () => {
  await using place = await startServicenowServer();
  const { url } = place.server;
  const [ada, ben] = [await place.signIn("ada", everything), await place.signIn("ben", everything)];
  const call = async (name: string, input: Record<string, unknown>, token = ada): Promise<string> => {
    const answer = await postMcp(url, toolCall(name, input), { token, headers });
    assert.equal(answer.status, 200);
    const { result } = await answer.json();
    return `${result.isError ? "refused: " : ""}${result.content[0].text}`;
  };
  const listed = await postMcp(url, { jsonrpc: "2.0", id: 1, method: "tools/list" }, { token: ada, headers });
  const { result: { tools } } = await listed.json();
  const names = tools.map(({ name }: { name: string }) => name).filter((name: string) =>
    name.startsWith("servicenow_")
  );
  assert.deepEqual(names.toSorted(), [
    "servicenow_add_note",
    "servicenow_approve",
    "servicenow_attach",
    "servicenow_count",
    "servicenow_create",
    "servicenow_describe",
    "servicenow_fetch_attachment",
    "servicenow_get_record",
    "servicenow_order",
    "servicenow_search",
    "servicenow_update",
  ]);

  const where = "state=In Progress\nassigned_to=me";
  assert.match(await call("servicenow_search", { table: "incident", where }), /^incident: 1, [^]*INC0010001/);
  assert.match(
    await call("servicenow_search", { table: "incident", where: "state=high" }),
    /^refused: .*cannot be "high"/,
  );
  assert.equal(await call("servicenow_count", { table: "incident" }, ben), "incident: 1 that the user may see");
  assert.match(
    await call("servicenow_get_record", { id: "INC0010001", include: "journal" }),
    /ada \(work note\): Disk full/,
  );
  assert.match(await call("servicenow_describe", { table: "problem", field: "state" }), /Root Cause Analysis=103/);
  assert.match(await call("servicenow_create", { table: "problem", from: "INC0010001" }), /^PRB\d{7} /);
  assert.match(
    await call("servicenow_update", { id: "INC0010001", values: "urgency=high", dry_run: true }),
    /^Dry run, nothing sent\. INC0010001 would get:\nurgency: 2 - Medium → 1 - High$/,
  );
  assert.match(
    await call("servicenow_update", { id: "INC0010001", values: "urgency=high" }),
    /urgency: 2 - Medium → 1/,
  );
  assert.match(
    await call("servicenow_add_note", { id: "INC0010002", audience: "caller", text: "Soon" }),
    /comments: Soon/,
  );
  assert.match(
    await call("servicenow_order", { item: "Standard Laptop", answers: "acrobat=yes" }, ben),
    /^Ordered: REQ/,
  );
  await call("servicenow_update", { id: "CHG0030001", values: "state=Assess" });
  assert.match(await call("servicenow_approve", { id: "CHG0030001", decision: "approve" }), /Requested → Approved/);
  assert.equal(await call("servicenow_fetch_attachment", { id: "INC0010001" }), "Saved mx-01.log (22 bytes)");
  assert.match(await call("servicenow_attach", { id: "INC0010002", filename: "mx-01.log" }), /^Attached mx-01\.log/);
});

Deno.test("the start warns of SERVICENOW_TABLES=*, and refuses tables that are never opened", async () => {
  await using place = await startServicenowServer({ SERVICENOW_TABLES: "*" });
  assert.match(place.server.stderr(), /servicenow_all_tables/);
  await assert.rejects(startServicenowServer({ SERVICENOW_TABLES: "incident,sys_script" }), /SERVICENOW_TABLES/);
});
