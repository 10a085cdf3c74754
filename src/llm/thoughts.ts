/** What a model thought, apart from what it answered, where the engine leaves both in one text. */

/** How models mark their thoughts, at the beginning of what they write. */
const marks: readonly (readonly [open: string, close: string])[] = [
  ["<think>", "</think>"], // DeepSeek, Qwen
  ["<thinking>", "</thinking>"],
  ["<thought>", "</thought>"],
  ["<reasoning>", "</reasoning>"],
  ["<seed:think>", "</seed:think>"],
  ["[THINK]", "[/THINK]"], // Magistral
  ["<|channel|>analysis<|message|>", "<|channel|>final<|message|>"], // gpt-oss, where no engine reads its channels
];

/** The parts of an answer. Templates that begin the thoughts in the prompt leave their end alone. */
export function separateThoughts(text: string): { readonly text: string; readonly thinking: string } {
  const start = text.trimStart();
  for (const [open, close] of marks) {
    const isOpen = start.startsWith(open);
    const at = start.indexOf(close);
    if (at < 0 && isOpen) return { text: "", thinking: start.slice(open.length) }; // it was cut while it thought
    if (at < 0 || (!isOpen && start.includes(open))) continue;
    const thinking = start.slice(isOpen ? open.length : 0, at).trim();
    return { text: start.slice(at + close.length).trimStart(), thinking };
  }
  return { text, thinking: "" };
}
