/** A prompt: data plus one function, like a tool. */
import type { ContentBlock, ToolContext } from "./tool.ts";
import { createRegistry, type Registry } from "./registry.ts";

/** A parameter of a prompt. */
interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly required: boolean;
}

/** One message of a rendered prompt (MCP schema `PromptMessage`). */
export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock;
}

/** What a prompt renders to, or why it cannot. */
export type PromptOutcome =
  | { readonly ok: true; readonly messages: readonly PromptMessage[] }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** A prompt as data. Missing arguments that are required are refused before `render`; unknown ones are passed on. */
export interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly scopes: readonly string[];
  readonly arguments: readonly PromptArgument[];
  readonly render: (
    values: Readonly<Record<string, string>>,
    context: ToolContext,
  ) => PromptOutcome | Promise<PromptOutcome>;
  /** Suggests values for an argument that begins with `value`. */
  readonly complete?: (
    argument: string,
    value: string,
    others: Readonly<Record<string, string>>,
  ) => readonly string[] | Promise<readonly string[]>;
}

export type PromptRegistry = Registry<Prompt, Prompt>;

/** The prompts on offer. Throws where two have one name. */
export function createPromptRegistry(prompts: Iterable<Prompt>): PromptRegistry {
  return createRegistry((prompt) => prompt.name, (prompt) => prompt, prompts);
}
