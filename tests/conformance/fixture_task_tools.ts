/** Fixtures of the tasks extension: calls that are handed out. */
import { z } from "zod";
import { pause } from "../../src/lib/time.ts";
import type { Tool } from "../../src/mcp/tool.ts";
import { form } from "./fixture_asking_tools.ts";
import { fixture, fixtureWith, text } from "./fixture_tool.ts";

const nameQuestion = form("What is your name?", { name: { type: "string" } }, ["name"]);

/** The tools that take long. */
export const taskTools: readonly Tool[] = [
  fixtureWith("greet", z.object({ name: z.string().describe("Whom to greet") }), ({ name }) => text(`Hello, ${name}!`)),
  fixtureWith(
    "slow_compute",
    z.object({
      seconds: z.number().min(0).max(60).describe("How long to take"),
      label: z.string().optional().describe("What to call it"),
    }),
    async ({ seconds, label }, context) => {
      await context.handOut();
      const steps = 10;
      for (let step = 0; step < steps && !context.signal.aborted; step += 1) {
        context.progress({ progress: step, total: steps });
        await pause(seconds * 1000 / steps);
      }
      return text(`Computed ${label ?? "something"} in ${seconds} s`);
    },
  ),
  fixture("failing_job", async (context) => {
    await context.handOut({ required: true });
    await pause(1_000);
    return { ok: false, code: "failed", message: "The job failed, as it always does" };
  }),
  fixture("protocol_error_job", async (context) => {
    await context.handOut({ required: true });
    await pause(100);
    throw new Error("The job broke");
  }),
  fixtureWith(
    "confirm_delete",
    z.object({ filename: z.string().describe("What to delete") }),
    async ({ filename }, context) => {
      await context.handOut({ required: true });
      const answers = await context.ask({
        confirm: form(`Delete ${filename}?`, { confirm: { type: "boolean" } }, ["confirm"]),
      });
      if (!answers.ok) return { ok: false, code: answers.error.reason, message: answers.error.message };
      return text(answers.value.confirm.action === "accept" ? `Deleted ${filename}` : `Kept ${filename}`);
    },
  ),
  fixture("multi_input", async (context) => {
    await context.handOut({ required: true });
    const answers = await context.ask({
      name: nameQuestion,
      color: form("Your favourite colour?", { color: { type: "string" } }, ["color"]),
    });
    if (!answers.ok) return { ok: false, code: answers.error.reason, message: answers.error.message };
    return text(`Got ${JSON.stringify(answers.value)}`);
  }),
  fixture("test_tool_with_task", async (context) => {
    const answers = await context.ask({ user_name: nameQuestion });
    if (!answers.ok) return { ok: false, code: answers.error.reason, message: answers.error.message };
    await context.handOut({ required: true });
    await pause(200);
    const { content } = answers.value.user_name as { readonly content?: { readonly name?: unknown } };
    return text(`Task done for ${content?.name}`);
  }),
];
