/** A tool that makes the attempts that a broken or hostile one could make. */
import { z } from "zod";
import { defineTool, type Tool } from "../../src/mcp/tool.ts";
import type { Attempt, Targets } from "./attempts.ts";

/** Makes the attempt that it is told, and answers with what came of it. */
export function attemptTool(attempts: Readonly<Record<string, Attempt>>): Tool {
  return defineTool({
    name: "attempt",
    title: "Attempt",
    description: "Tries what it is told, and answers with what came of it.",
    scopes: ["files:read"],
    annotations: {},
    input: z.object({ what: z.string(), targets: z.looseObject({}) }),
    run: async ({ what, targets }) => {
      const text = await tell(() => attempts[what]?.(targets as unknown as Targets));
      return { ok: true, content: [{ type: "text", text }] };
    },
  });
}

async function tell(step: () => unknown): Promise<string> {
  try {
    return `done: ${JSON.stringify(await step())}`;
  } catch (error) {
    return `stopped: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
  }
}
