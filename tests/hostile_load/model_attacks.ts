/** Calls of the local model: schemas, conversations, files and texts at and over their limits. */
import type { Random } from "../soak/random.ts";
import { type Attacks, call } from "./attack.ts";
import { hostileText, nested, sizeAround, wide } from "./hostile_values.ts";

const schemas: readonly ((random: Random) => unknown)[] = [
  () => ({ anyOf: Array.from({ length: 79_000 }, () => ({ items: [] })) }),
  () => ({ type: Array(100_000).fill("string") }),
  () => ({ $ref: `#/$defs/${"k".repeat(100_000)}`, $defs: { ["k".repeat(100_000)]: {} } }),
  () => ({ allOf: Array.from({ length: 5_000 }, () => ({ $ref: "#/$defs/a" })), $defs: { a: { minLength: 1 } } }),
  (random) => nested(random, random.pick([127, 128, 5_000])),
  (random) => wide(random, 50_000),
  () => "json",
];
/** Calls are short here: the model's places are few, and the rest of the server is to be tried too. */
const brief = { max_tokens: 20, timeout_ms: 2_000 };

/** By tool. */
export const modelAttacks: Attacks = {
  llm_generate: (random) =>
    call("llm_generate", {
      prompt: hostileText(random, sizeAround(random, 262_144, 1_000_000)),
      ...brief,
      ...random.pick([{}, { stop: Array(100_000).fill("x") }, { model: "x" }]),
    }),
  llm_generate_with_schema: (random) =>
    call("llm_generate", { prompt: "x", json_schema: random.pick(schemas)(random), ...brief }),
  llm_generate_with_turns: (random) =>
    call("llm_generate", {
      prompt: "x",
      messages: Array.from({ length: sizeAround(random, 100, 10_000) }, () => ({
        role: random.pick(["system", "user", "assistant", "tool"]),
        content: hostileText(random, 50),
        ...random.pick([{}, { files: Array(5).fill("a.txt:-9") }, wide(random, 5)]),
      })),
      ...brief,
    }),
  llm_generate_with_turns_of_nothing: (random) =>
    call("llm_generate", {
      prompt: "x",
      messages: Array(sizeAround(random, 100, 300_000)).fill(random.pick([0, {}, null, []])),
    }),
  llm_generate_with_files: (random) =>
    call("llm_generate", {
      prompt: "x",
      files: Array.from({ length: sizeAround(random, 16, 10_000) }, () => `${hostileText(random, 20)}:1-999999999`),
      ...brief,
    }),
  llm_models: () => call("llm_models", {}),
};
