/** The prompts that the conformance suite asks for. */
import { form } from "./fixture_asking_tools.ts";
import { pngBase64 } from "./fixture_media.ts";
import type { Prompt, PromptMessage, PromptOutcome } from "../../src/mcp/resource.ts";

function says(words: string): PromptMessage {
  return { role: "user", content: { type: "text", text: words } };
}

function prompt(
  name: string,
  required: readonly string[],
  render: Prompt["render"],
): Prompt {
  return {
    name,
    title: name.replaceAll("_", " "),
    description: `Conformance fixture: ${name}.`,
    scopes: [],
    arguments: required.map((argument) => ({ name: argument, description: `The ${argument}`, required: true })),
    render,
    complete: (_argument, value) => ["test-value-1", "test-value-2"].filter((each) => each.startsWith(value)),
  };
}

function messages(...list: PromptMessage[]): PromptOutcome {
  return { ok: true, messages: list };
}

/** The prompts. */
export const prompts: readonly Prompt[] = [
  prompt("test_simple_prompt", [], () => messages(says("This is a simple prompt for testing."))),
  prompt(
    "test_prompt_with_arguments",
    ["arg1", "arg2"],
    ({ arg1, arg2 }) => messages(says(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  ),
  prompt("test_prompt_with_embedded_resource", ["resourceUri"], ({ resourceUri = "" }) =>
    messages(
      {
        role: "user",
        content: {
          type: "resource",
          resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." },
        },
      },
      says("Please process the embedded resource above."),
    )),
  prompt("test_prompt_with_image", [], () =>
    messages(
      { role: "user", content: { type: "image", data: pngBase64, mimeType: "image/png" } },
      says("Please analyze the image above."),
    )),
  prompt("test_input_required_result_prompt", [], async (_values, context) => {
    const answers = await context.ask({
      user_context: form("What is this about?", { context: { type: "string" } }, ["context"]),
    });
    if (!answers.ok) return { ok: false, code: answers.error.reason, message: answers.error.message };
    return messages(says(`Consider: ${JSON.stringify(answers.value)}`));
  }),
];
