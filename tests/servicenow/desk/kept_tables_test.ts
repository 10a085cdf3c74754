/** A rule about a table holds whatever way a call reaches the table's records. */
import assert from "node:assert/strict";
import { placeReader } from "../../../src/app/approval.ts";
import { gateTool } from "../../../src/console/approvals/gate.ts";
import type { ToolContext } from "../../../src/mcp/tool.ts";
import { principalOf } from "../principal.ts";
import { type Desk, openDesk } from "./desk_place.ts";

/** Calls a tool behind one rule that refuses about a place, or behind none. */
async function behind(desk: Desk, place: string | null, name: string, input: object, person = "ada"): Promise<string> {
  const tool = desk.tools.find((each) => each.name === name) ?? assert.fail(name);
  const gated = gateTool(tool, {
    ...{
      rules: { current: place === null ? [] : [{ id: "r", verdict: "deny", place }] },
      clock: Date.now,
      placeReader,
    },
    ...{ findTrueNames: () => Promise.resolve([]), findStates: () => Promise.resolve([]), pageUrl: null },
  } as never);
  const context = {
    ...{ principal: principalOf(person), signal: new AbortController().signal, supports: () => false },
    ...{ progress() {}, log() {}, noteChange() {} },
  } as unknown as ToolContext;
  const outcome = await gated.run(tool.input.parse(input) as never, context);
  const said = outcome.ok ? outcome.content : [{ type: "text", text: `refused (${outcome.code}): ${outcome.message}` }];
  return said.map((block) => "text" in block ? block.text : "").join("\n");
}

const isRefused = /^refused /;

Deno.test("a record producer makes no record in a table that a rule keeps, nor says that it would", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const order = { item: "Report an issue", answers: "What is wrong?=Printer" };
  for (const input of [order, { ...order, dry_run: true }]) {
    for (const place of ["incident", "Incident"]) {
      const said = await behind(desk, place, "servicenow_order", input);
      assert.match(said, /^refused .*servicenow_create with table=incident/, place);
    }
    assert.match(await behind(desk, "task", "servicenow_order", input), isRefused);
    assert.match(await behind(desk, "problem", "servicenow_order", input), /Report an issue/);
  }
});

Deno.test("a rule about a class holds for calls about the table that the class extends", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const search = { table: "cmdb_ci", where: "name=db-01" };
  const calls = [
    ["servicenow_search", search],
    ["servicenow_count", search],
    ["servicenow_get_record", { table: "cmdb_ci", id: "db-01" }],
    ["servicenow_update", { table: "ci", id: "db-01", values: "short_description=x" }],
    ["servicenow_search", { table: "incident", fields: "cmdb_ci.name" }],
  ] as const;
  for (const [name, input] of calls) {
    for (const place of ["cmdb_ci_server", "CMDB_CI_Server", "cmdb_ci"]) {
      assert.match(await behind(desk, place, name, input), isRefused, `${place}: ${name}`);
    }
    for (const place of ["cmdb", "notes/cmdb_ci_server"]) {
      assert.equal(await behind(desk, place, name, input), await behind(desk, null, name, input), `${place}: ${name}`);
    }
  }
});

Deno.test("a record brings no records along that a rule keeps", async () => {
  await using desk = await openDesk({ people: ["eve"], instance: { data: "desk" } });
  const task = { id: "SCTASK0010001" };
  const answers = /^answers:/m;
  const read = (place: string | null, input: object) => behind(desk, place, "servicenow_get_record", input, "eve");
  assert.match(await read(null, task), answers);
  const alone = await read("ritm", task);
  assert.doesNotMatch(alone, isRefused);
  assert.doesNotMatch(alone, answers);
  const asked = { ...task, include: "answers" };
  assert.match(await read("sc_req_item", asked), isRefused);
  assert.doesNotMatch(await read("kb_knowledge", asked), isRefused);
});

Deno.test("a rule about the catalogue holds for an item that is named beside a table", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const item = "Standard Laptop";
  for (const input of [{ item }, { item, table: "incident" }]) {
    for (const place of ["sc_cat_item", "Catalog item", "catalog"]) {
      assert.match(await behind(desk, place, "servicenow_describe", input), isRefused, place);
    }
  }
  assert.doesNotMatch(await behind(desk, "problem", "servicenow_describe", { item }), isRefused);
  assert.doesNotMatch(
    await behind(desk, "sc_cat_item", "servicenow_describe", { table: "incident", item: " " }),
    isRefused,
  );
});

Deno.test("a list shows and searches no columns of a table that a rule keeps", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const list = { table: "sysapproval_approver" };
  const searches = [
    ["change_request", list, /VPN gateway/, "gateway"],
    ["task", { table: "task_sla" }, /ERP is slow/, "ERP"],
    ["cmdb_ci_server", { table: "cmdb_rel_ci" }, /Server|Application/, "db-01"],
  ] as const;
  for (const [place, input, shown, words] of searches) {
    assert.match(await behind(desk, null, "servicenow_search", input), shown);
    const kept = await behind(desk, place, "servicenow_search", input);
    assert.doesNotMatch(kept, shown);
    assert.doesNotMatch(kept, isRefused);
    assert.match(
      await behind(desk, place, "servicenow_search", { ...input, words }),
      /has no text to search|none that/,
    );
  }
});

Deno.test("an order names no approvers, and a decision no item, that a rule keeps", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const order = { item: "Standard Laptop" };
  assert.match(await behind(desk, null, "servicenow_order", order, "ben"), /Ada Lovelace/);
  const kept = await behind(desk, "approvals", "servicenow_order", order, "ben");
  assert.match(kept, /^Ordered: REQ/);
  assert.doesNotMatch(kept, /Ada Lovelace/);
  const decision = { id: "REQ0010001", decision: "approve", dry_run: true };
  assert.match(await behind(desk, null, "servicenow_approve", decision), /Standard Laptop/);
  const alone = await behind(desk, "sc_req_item", "servicenow_approve", decision);
  assert.match(alone, /^Dry run/);
  assert.doesNotMatch(alone, /Standard Laptop/);
});

Deno.test("a rule about a table holds for the record that a new one comes from", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const read = () => behind(desk, null, "servicenow_get_record", { id: "INC0010001" });
  const before = await read();
  for (
    const from of ["INC0010001", "inc 0010001", "#INC0010001.", "servicenow://incident/INC0010001", "a".repeat(32)]
  ) {
    for (const more of [{ dry_run: true }, { values: "short_description=x" }]) {
      const said = await behind(desk, "incident", "servicenow_create", { table: "problem", from, ...more });
      assert.match(said, isRefused, from);
    }
  }
  assert.equal(await read(), before);
  const open = { table: "problem", from: "INC0010001", dry_run: true };
  assert.doesNotMatch(await behind(desk, "change_request", "servicenow_create", open), isRefused);
  assert.doesNotMatch(await behind(desk, "incident", "servicenow_create", { ...open, from: " " }), /does not allow/);
});

Deno.test("a rule holds for a record that a link or me names, and a rule about files for none", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const id = /https?:\S+/.exec(await behind(desk, null, "servicenow_get_record", { id: "INC0010001" }))?.[0] ?? "";
  assert.match(id, /sys_id=/);
  const names = ["Incident", "incidents", "task"];
  for (const link of [id, `${id}&x=1`, `${id.replace(/\/[^/]*\?/, "/task.do?")}`, "servicenow://incident/INC0010001"]) {
    for (const place of names) {
      assert.match(await behind(desk, place, "servicenow_get_record", { id: link }), isRefused, `${place}: ${link}`);
    }
  }
  for (const input of [{ id }, { id, table: "incident" }, { id: "me" }]) {
    for (const place of ["notes/private", "problem"]) {
      assert.doesNotMatch(await behind(desk, place, "servicenow_get_record", input), isRefused, place);
    }
  }
  for (const place of ["sys_user", "people", "Person", "users"]) {
    assert.match(await behind(desk, place, "servicenow_get_record", { id: "me" }), isRefused, place);
  }
});

Deno.test("a rule about a table by any of its names holds for tools that name no table", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const order = { item: "Standard Laptop", dry_run: true };
  const decision = { id: "REQ0010001", decision: "approve", dry_run: true };
  for (const place of ["approvals", "approval", "Approval", "sysapproval_approver"]) {
    assert.match(await behind(desk, place, "servicenow_approve", decision, "ben"), isRefused, place);
  }
  for (const place of ["Catalog item", "catalog", "Request", "ritm", "requested items", "task"]) {
    assert.match(await behind(desk, place, "servicenow_order", order), isRefused, place);
  }
  for (const place of ["incident", "Incidents", "cmdb_ci"]) {
    assert.doesNotMatch(await behind(desk, place, "servicenow_order", order), isRefused, place);
    assert.doesNotMatch(await behind(desk, place, "servicenow_approve", decision, "ben"), /does not allow/, place);
  }
});
