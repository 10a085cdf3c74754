/**
 * No text of a call to the desk is dearer than its length: four times the text may cost ten times the time on the
 * thread. Only what takes long enough to be measured is judged. Rules look at a call before its tool does.
 */
import assert from "node:assert/strict";
import { placeReader } from "../../../src/app/approval.ts";
import { placesOf } from "../../../src/console/approvals/rule.ts";
import { createToolRegistry } from "../../../src/mcp/registry.ts";
import type { ToolContext } from "../../../src/mcp/tool.ts";
import { parseToolInput } from "../../../src/mcp/tool_input.ts";
import { openDesk } from "../desk/desk_place.ts";
import { principalOf } from "../principal.ts";

const large = 12_000;
const growth = 4;
const allowedFactor = 10;
const measurableMilliseconds = 40;
const measurements = 3;

/** What a text repeats; expressions that look for an end take each as a beginning. */
const units = [
  " ",
  "\n",
  "a",
  "1",
  ".",
  ",",
  "=",
  "^",
  "(",
  "a ",
  "a=b\n",
  " and ",
  " or ",
  "-",
  "<p>",
  "&amp;",
  "\t",
  "%3F",
];
/** What stands around it. */
const frames: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `${text}x`,
  (text) => `x=${text}!`,
  (text) => `x=a${text}b\n${text}`,
  (text) => JSON.stringify({ short_description: `a${text}b` }),
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
    /** The longest that the call held the thread. */
    const held = async (parameter: string, text: string): Promise<number> => {
      calls++;
      const began = performance.now();
      const input = { ...needed[name], [parameter]: text, ...hasTrial ? { dry_run: true } : {} };
      const parsed = parseToolInput(registered, input);
      if (!parsed.ok) return performance.now() - began;
      placesOf(registered.tool, parsed.value, placeReader);
      const before = performance.now() - began;
      return Math.max(before, await longestTurn(() => registered.tool.run(parsed.value as never, context)));
    };
    for (const [parameter, { type }] of Object.entries(properties)) {
      if (type !== "string") continue;
      for (const unit of units) {
        for (const frame of frames) {
          const text = (length: number): string => frame(unit.repeat(Math.ceil(length / unit.length)));
          const factor = async (): Promise<number> => {
            const time = await held(parameter, text(large));
            return time < measurableMilliseconds ? 0 : time / await held(parameter, text(large / growth));
          };
          let lowest = await factor();
          for (let more = 1; lowest > allowedFactor && more < measurements; more++) {
            lowest = Math.min(lowest, await factor());
          }
          assert.ok(lowest <= allowedFactor, `${name} ${parameter} ${JSON.stringify(frame(unit))}: ${lowest}`);
        }
      }
    }
  }
  assert.ok(calls > 1_000, `${calls} calls`);
});

/** In milliseconds, the longest time without a turn of the thread's event loop. */
async function longestTurn(act: () => unknown): Promise<number> {
  let last = performance.now();
  let longest = 0;
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  try {
    await act();
  } finally {
    clearInterval(timer);
    look();
  }
  return longest;
}
