/** A rule about a table holds for what a call reads of it through references of another one. */
import assert from "node:assert/strict";
import { placeReader } from "../../src/app/approval.ts";
import { gateTool } from "../../src/console/approvals/gate.ts";
import type { ToolContext } from "../../src/mcp/tool.ts";
import { servicenowTools } from "../../src/servicenow/servicenow_offer.ts";
import { principalOf } from "./principal.ts";
import { openPlace } from "./place.ts";

Deno.test("no field, condition, order or group reads on in a table that a rule keeps, others do", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  const context = {
    ...{ principal: principalOf("one"), signal: new AbortController().signal, supports: () => false },
    ...{ progress() {}, log() {} },
  } as unknown as ToolContext;
  const search = { table: "incident", fields: "number" };
  const walks = [
    ["servicenow_search", { ...search, fields: "number, caller_id.email" }],
    ["servicenow_search", { ...search, fields: "number, Caller.Email" }],
    ["servicenow_search", { ...search, where: "caller_id.email = x" }],
    ["servicenow_search", { ...search, order_by: "caller_id.email" }],
    ["servicenow_count", { table: "incident", group_by: "caller_id.email" }],
    ["servicenow_get_record", { id: "INC0010001", fields: "caller_id.email" }],
  ] as const;
  const call = async (rules: readonly unknown[], name: string, input: unknown) => {
    const tool =
      servicenowTools(place.servicenow, { workspace: {} as never, writing: true }).find((each) => each.name === name) ??
        assert.fail(name);
    const gated = gateTool(tool, {
      ...{ rules: { current: rules }, clock: Date.now, placeReader, findTrueNames: () => Promise.resolve([]) },
      findStates: () => Promise.resolve([]),
      pageUrl: null,
    } as never);
    const outcome = await gated.run(tool.input.parse(input) as never, context);
    return outcome.ok ? "ok" : outcome.message;
  };
  const named = { ...search, where: "assigned_to = Adaa" };
  const nearest = await call([], "servicenow_search", named);
  assert.match(nearest, /nearest: .*Ada/);
  const kept = await call([{ id: "r", verdict: "deny", place: "sys_user" }], "servicenow_search", named);
  assert.equal(kept, nearest.replace(/; nearest: .*/, ""), "a refusal lists no records of it");
  const isRefused = /leads to no table that can be read here/;
  for (const [name, input] of walks) {
    for (const [verdict, kept] of [["deny", "sys_user"], ["ask", "Person"], ["deny", "SYS_USER"]]) {
      assert.match(
        await call([{ id: "r", verdict, place: kept }], name, input),
        isRefused,
        `${name} ${verdict} ${kept}`,
      );
    }
    for (const rule of [{ place: "secret", verdict: "deny" }, { place: "sys_user", verdict: "allow" }]) {
      assert.doesNotMatch(await call([{ id: "r", ...rule }], name, input), isRefused, JSON.stringify(rule));
    }
  }
});
