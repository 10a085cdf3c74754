/** So many calls on files work at the same time: of a grant, and of a person with many grants. */
import assert from "node:assert/strict";
import * as z from "zod";
import { createFilePlaces } from "../../src/app/workspaces.ts";
import { defineTool, type Tool } from "../../src/mcp/tool.ts";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { failure } from "../../src/lib/result.ts";
import { quietCaller } from "../fixtures/quiet_context.ts";
import { principalOf } from "../workspace/call_tool.ts";
import { withWorkspace } from "./with_workspace.ts";

const turns = () => new Promise((resolve) => setTimeout(resolve, 5));

/** A tool whose calls last until they are let go, and how many of each person work. */
function lastingTool() {
  const held = Promise.withResolvers<void>();
  const working: Record<string, number> = {};
  const work = async (person: string): Promise<void> => {
    working[person] = (working[person] ?? 0) + 1;
    await held.promise;
    working[person]--;
  };
  const tool = defineTool({
    ...{ name: "lasts", title: "Lasts", description: "Lasts.", scopes: [], annotations: {} },
    input: z.object({}),
    async preview(_, { principal }) {
      await work(principal.subject);
      return "lasts";
    },
    async run(_, { principal }) {
      await work(principal.subject);
      return { ok: true, content: [], structuredContent: {} };
    },
  });
  return { tool, working, letGo: held.resolve };
}

const contextOf = (subject: string, grantId: string) => ({
  ...quietCaller,
  principal: { ...principalOf(subject), grantId },
  signal: new AbortController().signal,
  progress: () => {},
});

for (const way of ["run", "preview"] as const) {
  Deno.test(`a person has eight places however many grants, each grant four, and no person those of another: ${way}`, async () => {
    const { tool, working, letGo } = lastingTool();
    const { [way]: call } = createFilePlaces().ofTool(tool);
    const calls = [
      ...Array.from({ length: 60 }, (_, index) => call?.({} as never, contextOf("ada", `grant ${index}`))),
      ...Array.from({ length: 6 }, () => call?.({} as never, contextOf("ben", "one grant"))),
    ];
    await turns();
    assert.deepEqual(working, { ada: 8, ben: 4 });
    letGo();
    await Promise.all(calls);
    assert.deepEqual(working, { ada: 0, ben: 0 });
  });
}

Deno.test("file_delete holds no place while a person is asked, and none begins beyond the places", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (let directory = 0; directory < 10; directory++) {
      Deno.mkdirSync(`${root}/d${directory}`);
      for (let file = 0; file < 101; file++) Deno.writeTextFileSync(`${root}/d${directory}/${file}`, "");
    }
    const { ofWork } = createFilePlaces();
    let [inPlace, most, asked] = [0, 0, 0];
    const answered = Promise.withResolvers<void>();
    const tool: Tool = fileDeleteTool(() => workspace, {
      inPlace: (context, work) =>
        ofWork(context, async () => {
          most = Math.max(most, ++inPlace);
          try {
            return await work();
          } finally {
            inPlace--;
          }
        }),
    });
    const deleted = Array.from({ length: 10 }, (_, index) =>
      tool.run({ path: `d${index}`, recursive: true } as never, {
        ...contextOf("ada", "one grant"),
        supports: (ability) => ability === "elicitation",
        async ask() {
          asked++;
          await answered.promise;
          return failure({ reason: "timeout", message: "no answer" });
        },
      }));
    while (asked < 10) await turns();
    assert.equal(inPlace, 0);
    answered.resolve();
    await Promise.all(deleted);
    assert.ok(most <= 4, `${most} at the same time`);
  }));
