/** The ServiceNow tools over a stand-in instance, for people of it: each subject is the user name of one. */
import assert from "node:assert/strict";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { parseToolInput } from "../../../src/mcp/tool_call.ts";
import { createToolRegistry } from "../../../src/mcp/registry.ts";
import type { Tool, ToolContext, ToolOutcome } from "../../../src/mcp/tool.ts";
import type { ServicenowOptions } from "../../../src/servicenow/servicenow.ts";
import { servicenowTools } from "../../../src/servicenow/servicenow_offer.ts";
import { openDiskWorkspace } from "../../../src/files/disk/disk_workspace.ts";
import { defaultWorkspaceLimits } from "../../../src/files/workspace/port.ts";
import type { StandInInstance, StandInOptions } from "../../fixtures/servicenow/instance.ts";
import { principalOf } from "../principal.ts";
import { openPlace, type Place } from "../place.ts";

export interface Desk extends AsyncDisposable {
  readonly place: Place;
  readonly instance: StandInInstance;
  readonly root: string;
  readonly tools: readonly Tool[];
  /** Calls a tool as the protocol layer does: arguments that it does not have are refused. */
  call(name: string, input: object, userName?: string): Promise<ToolOutcome>;
  /** The text of a success, or `refused (code): message`. */
  text(name: string, input: object, userName?: string): Promise<string>;
  /** What a person reads who decides about the call. */
  effect(name: string, input: object, userName?: string): Promise<string>;
  /** How many o200k tokens the listed tools cost. */
  tokens(): number;
}

interface DeskOptions extends Partial<Pick<ServicenowOptions, "tables" | "fetch">> {
  readonly writing?: boolean;
  readonly people?: readonly string[];
  readonly instance?: Pick<StandInOptions, "data" | "habits">;
}

export async function openDesk(
  { writing = true, people = ["ada", "ben"], tables, fetch, instance = {} }: DeskOptions = {},
): Promise<Desk> {
  const place = await openPlace(instance);
  for (const userName of people) await place.link(userName, userName);
  const own = { ...tables === undefined ? {} : { tables }, ...fetch === undefined ? {} : { fetch } };
  const servicenow = Object.keys(own).length === 0
    ? place.servicenow
    : place.another({ storage: place.storage, ...own });
  const root = await Deno.makeTempDir({ prefix: "portcullis-servicenow-desk-" });
  const workspace = openDiskWorkspace({ root, limits: defaultWorkspaceLimits });
  const tools = servicenowTools(servicenow, { workspace: () => workspace, writing });
  const registry = createToolRegistry(tools);

  const act = async (name: string, input: object, userName: string, isPreview: boolean) => {
    const registered = registry.get(name);
    assert.ok(registered !== undefined, `${name} is offered`);
    const parsed = parseToolInput(registered, input as Record<string, unknown>);
    if (!parsed.ok) return { ok: false, code: "invalid_arguments", message: parsed.error } as const;
    // ServiceNow tools use nothing else of a context.
    const context: Pick<ToolContext, "principal" | "signal" | "noteChange" | "supports"> = {
      principal: principalOf(userName),
      signal: new AbortController().signal,
      noteChange: () => {},
      supports: () => false,
    };
    const { run, preview = run } = registered.tool;
    return await (isPreview ? preview : run)(parsed.value as never, context as ToolContext);
  };
  const call: Desk["call"] = async (name, input, userName = "ada") => {
    const outcome = await act(name, input, userName, false);
    return typeof outcome === "string" ? assert.fail(outcome) : outcome;
  };
  const textOf = (outcome: ToolOutcome): string =>
    outcome.ok
      ? outcome.content.map((block) => block.type === "text" ? block.text : "").join("\n")
      : `refused (${outcome.code}): ${outcome.message}`;
  return {
    place,
    instance: place.instance,
    root,
    tools,
    call,
    text: async (name, input, userName) => textOf(await call(name, input, userName)),
    async effect(name, input, userName = "ada") {
      const effect = await act(name, input, userName, true);
      return typeof effect === "string" ? effect : textOf(effect);
    },
    tokens: () =>
      registry.all().reduce(
        (sum, { tool: { name, title, description, annotations }, inputSchema }) =>
          sum + countTokens(JSON.stringify({ name, title, description, inputSchema, annotations })),
        0,
      ),
    async [Symbol.asyncDispose]() {
      await workspace.close();
      await place[Symbol.asyncDispose]();
      await Deno.remove(root, { recursive: true });
    },
  };
}
