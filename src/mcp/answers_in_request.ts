/** MRTR (2026-07-28, basic/patterns/mrtr): the answers to a tool's questions are in the request, or are still to come. */
import type { Call } from "./call.ts";
import { isObject } from "../lib/json.ts";
import { type Answer, type Answers, parseAnswer, type Question, type Questions } from "./question.ts";
import { openRequestState } from "./request_state.ts";

export type FoundAnswers<Key extends string> =
  | { readonly kind: "answered"; readonly answers: Answers<Key> }
  | {
    readonly kind: "input_required";
    /** Those that have no answer yet. */
    readonly questions: Questions;
    /** All answers so far, to be carried to the next round. */
    readonly answers: Readonly<Record<string, unknown>>;
  }
  | { readonly kind: "bad_answers"; readonly message: string };

/** Looks for answers in `inputResponses` and, from earlier rounds, in `requestState`. */
export async function findAnswers<Key extends string>(
  call: Call,
  questions: Questions<Key>,
  answeredBefore: Readonly<Record<string, Answer>>,
): Promise<FoundAnswers<Key>> {
  const { params } = call.request;
  const { inputResponses = {}, requestState } = isObject(params) ? params : {};
  if (!isObject(inputResponses)) return bad("inputResponses must be an object");
  const earlier = requestState === undefined ? {} : await earlierAnswers(call, requestState);
  if (earlier === null) return bad("requestState is not valid for this request");
  const answers: Record<string, Answer> = {};
  const open: Record<string, Question> = {};
  for (const [key, question] of Object.entries<Question>(questions)) {
    const given = Object.hasOwn(inputResponses, key) ? inputResponses[key] : earlier[key];
    if (given === undefined) {
      open[key] = question;
      continue;
    }
    const answer = parseAnswer(question, given);
    if (answer === null) return bad(`inputResponses.${key} is no answer to ${question.method}`);
    answers[key] = answer;
  }
  if (Object.keys(open).length === 0) return { kind: "answered", answers: answers as Answers<Key> };
  return { kind: "input_required", questions: open, answers: { ...earlier, ...answeredBefore, ...answers } };
}

async function earlierAnswers(
  { request, principal, runtime }: Call,
  requestState: unknown,
): Promise<Readonly<Record<string, unknown>> | null> {
  if (typeof requestState !== "string") return null;
  return await openRequestState({ ...runtime, ...runtime.limits }, request, principal, requestState);
}

function bad(message: string): { readonly kind: "bad_answers"; readonly message: string } {
  return { kind: "bad_answers", message };
}
