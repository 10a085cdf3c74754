/** Fixtures that ask the client: the same questions, as requests in one era and in results in the other. */
import { z } from "zod";
import type { FormField, Question } from "../../src/mcp/question.ts";
import type { Tool, ToolContext, ToolOutcome } from "../../src/mcp/tool.ts";
import { fixture, fixtureWith, text } from "./fixture_tool.ts";

/** Asks for a form to be filled in. */
export function form(message: string, properties: Record<string, FormField>, required?: string[]): Question {
  const requestedSchema = required === undefined
    ? { type: "object" as const, properties }
    : { type: "object" as const, properties, required };
  return { method: "elicitation/create", params: { message, requestedSchema } };
}

/** Asks the client's model. */
export function sampling(prompt: string): Question {
  const message = { role: "user" as const, content: { type: "text" as const, text: prompt } };
  return { method: "sampling/createMessage", params: { messages: [message], maxTokens: 100 } };
}

const roots: Question = { method: "roots/list", params: {} };
const nameForm = form("What is your name?", { name: { type: "string" } }, ["name"]);
const okForm = form("Is that right?", { ok: { type: "boolean" } }, ["ok"]);

/** Asks everything at once and says what came back. */
async function askAll(context: ToolContext, questions: Record<string, Question>, words: string): Promise<ToolOutcome> {
  const answers = await context.ask(questions);
  if (!answers.ok) return { ok: false, code: answers.error.reason, message: answers.error.message };
  return text(`${words}${JSON.stringify(answers.value)}`);
}

async function greet(context: ToolContext): Promise<ToolOutcome> {
  const answers = await context.ask({ user_name: nameForm });
  if (!answers.ok) return { ok: false, code: answers.error.reason, message: answers.error.message };
  const { content } = answers.value.user_name as { readonly content?: { readonly name?: unknown } };
  return text(`Hello, ${content?.name}!`);
}

/** The tools that ask. */
export const askingTools: readonly Tool[] = [
  fixtureWith(
    "test_sampling",
    z.object({ prompt: z.string().describe("What to ask the model") }),
    ({ prompt }, context) => askAll(context, { answer: sampling(prompt) }, "LLM response: "),
  ),
  fixtureWith(
    "test_elicitation",
    z.object({ message: z.string().describe("What to ask the person") }),
    ({ message }, context) => {
      const fields: Record<string, FormField> = { username: { type: "string" }, email: { type: "string" } };
      return askAll(context, { answer: form(message, fields, ["username", "email"]) }, "User response: ");
    },
  ),
  fixture("test_elicitation_sep1034_defaults", (context) =>
    askAll(context, {
      answer: form("Please review the defaults", {
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      }),
    }, "Elicitation completed: ")),
  fixture("test_elicitation_sep1330_enums", (context) => {
    const titled = [
      { const: "value1", title: "First Option" },
      { const: "value2", title: "Second Option" },
      { const: "value3", title: "Third Option" },
    ];
    return askAll(context, {
      answer: form("Please select options", {
        untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
        titledSingle: { type: "string", oneOf: titled },
        legacyEnum: {
          type: "string",
          enum: ["opt1", "opt2", "opt3"],
          enumNames: ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
        titledMulti: { type: "array", items: { anyOf: titled } },
      }),
    }, "Elicitation completed: ");
  }),
  fixture("test_missing_capability", (context) => askAll(context, { answer: sampling("Are you there?") }, "")),
  fixture("test_streaming_elicitation", greet),
  fixture("test_input_required_result_elicitation", greet),
  fixture(
    "test_input_required_result_sampling",
    (context) => askAll(context, { capital_question: sampling("What is the capital of France?") }, "The model said: "),
  ),
  fixture("test_input_required_result_list_roots", (context) => askAll(context, { client_roots: roots }, "Roots: ")),
  fixture("test_input_required_result_request_state", (context) => askAll(context, { confirm: okForm }, "state-ok ")),
  fixture("test_input_required_result_tampered_state", (context) => askAll(context, { confirm: okForm }, "state-ok ")),
  fixture("test_input_required_result_multiple_inputs", (context) =>
    askAll(context, {
      user_name: nameForm,
      greeting: sampling("Write a greeting"),
      client_roots: roots,
    }, "All inputs: ")),
  fixture("test_input_required_result_multi_round", async (context) => {
    const first = await context.ask({ step1: form("Step 1: your name?", { name: { type: "string" } }, ["name"]) });
    if (!first.ok) return { ok: false, code: first.error.reason, message: first.error.message };
    return await askAll(context, {
      step2: form("Step 2: your favourite colour?", { color: { type: "string" } }, ["color"]),
    }, "Both steps done: ");
  }),
  fixture("test_input_required_result_capabilities", (context) => {
    const questions: Record<string, Question> = {};
    if (context.supports("sampling")) questions["model"] = sampling("Say hello");
    if (context.supports("elicitation")) questions["person"] = nameForm;
    return askAll(context, questions, "Asked what could be asked: ");
  }),
];
