/** MRTR (2026-07-28, basic/patterns/mrtr): the answers to a tool's questions are in the request, or are still to come. */
import * as z from "zod";
import { createDigest } from "../lib/secrets.ts";
import { isObject } from "../lib/json.ts";
import type { Call } from "./call.ts";
import { type Answer, type Answers, parseAnswer, type Question, type Questions } from "./question.ts";

// What a modern call carries from one round of questions to the next: the answers so far, sealed and bound to the
// principal, the request and an expiry. It comes back from the client, so it is attacker input (MRTR, server
// requirements 4 and 5). It may be presented again until it expires: it holds nothing but the caller's own answers.

const purpose = "mcp-request-state";
const shape = z.lazy(() => z.object({ expiresAt: z.number(), answers: z.record(z.string(), z.unknown()) }));

/** Seals the answers given so far. */
export function sealRequestState(call: Call, answers: Readonly<Record<string, unknown>>): Promise<string> {
  const { secretBox, clock, limits } = call.runtime;
  const expiresAt = clock() + limits.requestStateLifetimeMs;
  return secretBox.seal(purpose, JSON.stringify({ expiresAt, answers }), contextOf(call));
}

/** The answers out of a state; `null` when it is altered, expired, someone else's or another request's. */
async function openRequestState(call: Call, state: unknown): Promise<Readonly<Record<string, unknown>> | null> {
  const { secretBox, clock } = call.runtime;
  const text = typeof state === "string" ? await secretBox.open(purpose, state, contextOf(call)) : null;
  if (text === null) return null;
  const { expiresAt, answers } = shape.parse(JSON.parse(text));
  return expiresAt > clock() ? answers : null;
}

/** What the state is bound to: who asks, and for what. */
function contextOf({ request: { method, params }, principal: { subject, clientId } }: Call): string {
  const { name, uri, arguments: input } = isObject(params) ? params : {};
  const digest = createDigest().update(JSON.stringify([method, name ?? uri, sorted(input ?? {})]));
  return JSON.stringify([subject, clientId, digest.digest("base64url")]);
}

/** The same value with the keys of its objects in order: a client may write them in another one when it retries. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

export type FoundAnswers<Key extends string> =
  | { readonly kind: "answered"; readonly answers: Answers<Key> }
  | {
    readonly kind: "input_required";
    /** Questions without an answer yet. */
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
  const earlier = requestState === undefined ? {} : await openRequestState(call, requestState);
  if (earlier === null) {
    return bad("requestState is not valid for this request: leave it out, and the questions come again");
  }
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

function bad(message: string): { readonly kind: "bad_answers"; readonly message: string } {
  return { kind: "bad_answers", message };
}
