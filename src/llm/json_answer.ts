/** Answers in JSON: which schemas are sent, and the JSON in what a model wrote. */
import { failure, type Result, success } from "../lib/result.ts";
import type { ToolFailure } from "./answer.ts";

/** The answer as JSON, with the text that it is in; a failure that says why it is none. */
export function parseAnswer(
  text: string,
  problem: ToolFailure | null,
): Result<{ value: unknown; text: string }, ToolFailure> {
  for (const candidate of candidates(text)) {
    try {
      const value: unknown = JSON.parse(candidate);
      return measure(value, Infinity) === "deep"
        ? failure(notJson("The model's JSON is nested too deeply"))
        : success({ value, text: candidate });
    } catch { /* the next one may be */ }
  }
  if (problem === null) return failure(notJson("The model did not answer with JSON"));
  return failure({ code: "truncated", message: `The JSON is not complete. ${problem.message}` });
}

/** The whole, what is in fences, and what is among words: engines that know no schema leave the form to the model. */
function* candidates(text: string): Generator<string> {
  yield text;
  for (const [, fenced = ""] of text.matchAll(/```(?:json)?\s*\n([^]*?)\n?\s*```/gi)) yield fenced;
  // from the outermost bracket on: an inner part of broken JSON is not the answer
  const start = text.search(/\{\s*["}]|\[\s*["{[\d\]-]/);
  const end = text.lastIndexOf(text[start] === "{" ? "}" : "]");
  if (start >= 0 && end > start) yield text.slice(start, end + 1);
}

function notJson(what: string): ToolFailure {
  return { code: "model_failed", message: `${what}; describe the format in the prompt too, or use a larger model.` };
}

/** Levels: deeper than anything meant for people. */
const maxJsonDepth = 128;
/** Values of a schema. Ollama compiles it into a grammar, which is slow long before this. */
const maxSchemaValues = 10_000;

/** What makes a schema too large to be sent, or null. Whether it is a schema at all is for Ollama to judge. */
export function schemaProblem(schema: unknown): string | null {
  switch (measure(schema, maxSchemaValues)) {
    case "deep":
      return `it has more than ${maxJsonDepth} levels`;
    case "large":
      return `it has more than ${maxSchemaValues} values`;
    case null:
      return null;
  }
}

/** Which bound a caller's or a model's JSON breaks, if any: asked before anything walks it by recursion. */
function measure(root: unknown, maxValues: number): "deep" | "large" | null {
  let level: readonly unknown[] = [root];
  let values = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxJsonDepth) return "deep";
    values += level.length;
    if (values > maxValues) return "large";
    level = level.flatMap((value) => typeof value === "object" && value !== null ? Object.values(value) : []);
  }
  return null;
}
