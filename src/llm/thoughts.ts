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

interface Parts {
  readonly text: string;
  readonly thinking: string;
}

/** Splits the pieces of one answer. What may be part of a mark is held until the next piece; `end` gives the rest. */
export function createThoughtSplitter() {
  let held = "";
  let close = "";
  let state: "start" | "thoughts" | "gap" | "answer" = "start";
  const take = (count = held.length): string => {
    const taken = held.slice(0, Math.max(0, count));
    held = held.slice(taken.length);
    return taken;
  };

  const push = (piece: string, isLast = false): Parts => {
    held += piece;
    if (state === "start") {
      const start = held.trimStart();
      if (!isLast && marks.some(([open]) => start.length < open.length && open.startsWith(start))) return nothing;
      const mark = marks.find(([open]) => start.startsWith(open));
      state = mark === undefined ? "answer" : "thoughts";
      if (mark !== undefined) [close, held] = [mark[1], start.slice(mark[0].length)];
    }
    let thinking = "";
    if (state === "thoughts") {
      const at = held.indexOf(close);
      if (at < 0) return { text: "", thinking: isLast ? take() : take(held.length - close.length + 1) };
      thinking = take(at);
      take(close.length);
      state = "gap";
    }
    if (state === "gap") {
      held = held.trimStart();
      if (held !== "") state = "answer";
    }
    return { text: take(), thinking };
  };

  return { push, end: (): Parts => push("", true) };
}

const nothing: Parts = { text: "", thinking: "" };

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
