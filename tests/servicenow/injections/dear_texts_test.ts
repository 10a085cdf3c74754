/** No text of a caller, nor of an instance, is dearer than its length. Rules look at a call before its tool does. */
import assert from "node:assert/strict";
import { placeReader } from "../../../src/app/approval.ts";
import { placesOf } from "../../../src/console/approvals/rule.ts";
import { createToolRegistry } from "../../../src/mcp/registry.ts";
import type { ToolContext } from "../../../src/mcp/tool.ts";
import { parseToolInput } from "../../../src/mcp/tool_call.ts";
import { oneLine, plainText, wordsOf } from "../../../src/servicenow/field_values.ts";
import { assertCheap, frames } from "../../fixtures/dear_texts.ts";
import { openDesk } from "../desk/desk_place.ts";
import { principalOf } from "../principal.ts";

const valueFrames = [
  ...frames,
  ...["x", "watch_list", "assignment_group", "opened_at"].map((name) => (text: string) => `${name}=a${text}b\n${text}`),
  ...["short_description", "watch_list"].map((name) => (text: string) => JSON.stringify({ [name]: `a${text}b` })),
];

const needed: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  servicenow_search: { table: "incident" },
  servicenow_count: { table: "incident" },
  servicenow_get_record: { id: "INC0010001" },
  servicenow_describe: { table: "incident" },
  servicenow_create: { table: "incident", values: "short_description=x" },
  servicenow_update: { id: "INC0010001", values: "short_description=x" },
  servicenow_add_note: { id: "INC0010001", audience: "team", text: "x" },
  servicenow_order: { item: "Standard Laptop" },
  servicenow_approve: { id: "REQ0010001", decision: "approve" },
  servicenow_attach: { id: "INC0010001", filename: "x.txt" },
  servicenow_fetch_attachment: { id: "INC0010001" },
};

Deno.test("no text of a call to the desk is dearer than its length", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const registry = createToolRegistry(desk.tools);
  const context = {
    ...{ principal: principalOf("ada"), signal: new AbortController().signal, supports: () => false },
    ...{ progress() {}, log() {}, noteChange() {} },
  } as unknown as ToolContext;
  let calls = 0;
  for (const { name } of desk.tools) {
    const registered = registry.get(name) ?? assert.fail(name);
    const { properties = {} } = registered.wholeSchema as { properties?: Record<string, { type?: string }> };
    const hasTrial = Object.hasOwn(properties, "dry_run");
    const act = async (parameter: string, text: string): Promise<void> => {
      calls++;
      const input = { ...needed[name], [parameter]: text, ...hasTrial ? { dry_run: true } : {} };
      const parsed = parseToolInput(registered, input);
      if (!parsed.ok) return;
      placesOf(registered.tool, parsed.value, placeReader);
      await registered.tool.run(parsed.value as never, context);
    };
    for (const [parameter, { type }] of Object.entries(properties)) {
      if (type !== "string") continue;
      const around = ["values", "answers"].includes(parameter) ? valueFrames : frames;
      await assertCheap(`${name} ${parameter}`, (text) => act(parameter, text), around);
    }
  }
  assert.ok(calls > 1_000, `${calls} calls`);
});

Deno.test("no text of an instance is dearer than its length", async () => {
  for (const [name, read] of Object.entries({ wordsOf, oneLine, plainText })) {
    await assertCheap(name, read, [(text) => text, (text) => `<p>a${text}b</p>`, (text) => `[code]<p>${text}x[/code]`]);
  }
});
