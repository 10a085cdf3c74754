/** A tool's result as the protocol has it, reduced to the story. */
import type { ToolAnswer } from "./story.ts";

interface Block {
  readonly type?: string;
  readonly text?: string;
  readonly data?: string;
}

/** Reads `isError` and `content`. */
export function toToolAnswer(result: unknown): ToolAnswer {
  const { isError, content = [] } = result as { isError?: boolean; content?: readonly Block[] };
  return {
    isError: isError === true,
    text: content[0]?.text ?? "",
    image: content.find(({ type }) => type === "image")?.data,
  };
}
