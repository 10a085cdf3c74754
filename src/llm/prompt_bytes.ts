/** How much text a request hands to the model, in bytes of UTF-8. Images are bounded where they are read. */
import type { ChatRequest, EmbedRequest, GenerateRequest } from "./port.ts";

export function generatePromptBytes({ prompt, system = "", format }: GenerateRequest): number {
  return Buffer.byteLength(prompt) + Buffer.byteLength(system) + jsonBytes(format);
}

/** All messages and the schema. */
export function chatPromptBytes({ messages, format }: ChatRequest): number {
  return messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), jsonBytes(format));
}

export function embedPromptBytes({ texts }: EmbedRequest): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

function jsonBytes(value: unknown): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
}
