/** One call of the model by a tool: the format checked before, the answer followed, and held against the format after. */
import type { Clock } from "../../lib/time/clock.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import type { ToolContext, ToolOutcome } from "../../mcp/tool.ts";
import type { AnswerFormat, LocalModel, ModelEvent, PrincipalCall } from "../../ollama/port.ts";
import { followAnswer } from "./answer.ts";
import { callOf, type ToolFailure } from "./call.ts";
import type { ReadImage } from "./image.ts";
import { canonicalModel, type SamplingInput, toModelOptions } from "./input.ts";
import { cutOf, toFailure, toSuccess } from "./outcome.ts";
import { defaultProgressPace, type ProgressPace } from "./progress.ts";
import { isTooDeep, schemaProblem } from "./schema.ts";
import { checkAgainstSchema } from "./schema_check.ts";

export interface LlmToolOptions {
  readonly model: LocalModel;
  /** The operator's allow list, as Ollama names them; the first is the default. */
  readonly models: readonly [string, ...string[]];
  /** Images that callers name; see `workspaceImages`. */
  readonly readImage: ReadImage;
  /** Only differences are used; `performance.now` serves best. */
  readonly clock: Clock;
  readonly pace?: ProgressPace;
}

/** Callers that take tasks get one for an answer that may be longer: nobody holds a connection for minutes. */
const longAnswerTokens = 1024;

/** What a request to the model says whatever it asks. */
type CommonRequest = { readonly model: string } & ReturnType<typeof toModelOptions>;

/** One call, as its tool got it. */
interface ModelRun {
  readonly input: SamplingInput & { readonly model: string };
  readonly context: ToolContext;
  /** Sends the question. */
  readonly ask: (request: CommonRequest, call: PrincipalCall) => AsyncIterable<ModelEvent>;
}

/** Makes the call and writes the result, with `tool_calls` when the model made any. */
export async function runModel(
  { models, clock, pace = defaultProgressPace }: Pick<LlmToolOptions, "models" | "clock" | "pace">,
  { input, context, ask }: ModelRun,
): Promise<ToolOutcome> {
  const { format } = input;
  const problem = format === undefined || format === "json" ? null : schemaProblem(format);
  if (problem !== null) {
    return { ok: false, code: "invalid_request", message: `The schema in format cannot be used: ${problem}.` };
  }
  if (input.max_tokens > longAnswerTokens) await context.handOut();
  const model = canonicalModel(input.model, models);
  const answer = await followAnswer(
    (onWait) => ask({ model, ...toModelOptions(input) }, { ...callOf(context, input.timeout_ms), onWait }),
    context,
    { maxTokens: input.max_tokens, pace, clock },
  );
  const call = { model, maxTokens: input.max_tokens };
  const cut = cutOf(answer, call);
  if (answer.failure !== null && cut === null) return toFailure(answer.failure, answer, call);
  if (format === undefined || answer.toolCalls.length > 0) return toSuccess(answer, call, { problem: cut });
  const parsed = parseAnswer(answer.text, format, cut);
  return parsed.ok
    ? toSuccess(answer, call, { parsed: parsed.value, problem: cut })
    : toFailure(parsed.error, answer, call);
}

/** The answer as JSON that follows the format; a failure that says why it does not. */
function parseAnswer(text: string, format: AnswerFormat, cut: ToolFailure | null): Result<unknown, ToolFailure> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    if (cut === null) return failure(notJson("The model did not answer with JSON"));
    return failure({ code: "truncated", message: `The JSON is not complete. ${cut.message}` });
  }
  if (isTooDeep(value)) return failure(notJson("The model's JSON is nested too deeply"));
  if (format === "json") return success(value);
  const checked = checkAgainstSchema(format, value);
  return checked.ok
    ? success(value)
    : failure(notJson(`The model's answer does not follow the schema (${checked.error.replace(/^:/, "the whole")})`));
}

function notJson(what: string): ToolFailure {
  return { code: "model_failed", message: `${what}; describe the format in the prompt too, or use a larger model.` };
}
