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
const longestOpen = Math.max(...marks.map(([open]) => open.length));

interface Parts {
  readonly text: string;
  readonly thinking: string;
}

/** Splits the pieces of one answer. What may be part of a mark is held until the next piece; `end` gives the rest. */
export function createThoughtSplitter() {
  let held = "";
  /** `null` before the first sign; an empty text once the thoughts, if there were any, are over. */
  let close: string | null = null;

  const push = (piece: string, isLast = false): Parts => {
    held += piece;
    if (close === null) {
      const start = held.trimStart();
      if (!isLast && start.length < longestOpen && marks.some(([open]) => open.startsWith(start))) {
        return { text: "", thinking: "" };
      }
      const mark = marks.find(([open]) => start.startsWith(open));
      close = mark?.[1] ?? "";
      if (mark !== undefined) held = start.slice(mark[0].length);
    }
    if (close === "") return { text: take(), thinking: "" };
    const at = held.indexOf(close);
    if (at >= 0) {
      const thinking = held.slice(0, at).trim();
      held = held.slice(at + close.length).trimStart();
      close = "";
      return { text: take(), thinking };
    }
    return { text: "", thinking: isLast ? take() : take(held.length - close.length + 1) };
  };
  /** Takes characters of what is held; all of them without a number. */
  const take = (count = held.length): string => {
    const taken = held.slice(0, Math.max(0, count));
    held = held.slice(taken.length);
    return taken;
  };

  return { push, end: (): Parts => push("", true) };
}

/** The parts of a whole answer whose thoughts have an end alone, as templates that begin them in the prompt leave it. */
export function withoutLooseThoughts(text: string): Parts {
  for (const [open, close] of marks) {
    const at = text.indexOf(close);
    if (at >= 0 && !text.slice(0, at).includes(open)) {
      return { text: text.slice(at + close.length).trimStart(), thinking: text.slice(0, at).trim() };
    }
  }
  return { text, thinking: "" };
}
