/** Questions of the legacy era: each is a request of the server's own, on the stream of the call that asks. */
import { failure, type Result, success } from "../lib/result.ts";
import type { Call, Outlet } from "./call.ts";
import type { Answer, Answers, AskFailure, Question, Questions } from "./question.ts";

/** Asks all questions at once and waits for all answers; the first that fails fails them all. */
export async function askOnStream<Key extends string>(
  { session, runtime }: Call,
  questions: Questions<Key>,
  signal: AbortSignal,
  outlet: Outlet,
): Promise<Result<Answers<Key>, AskFailure>> {
  if (session === null) return failure({ reason: "unreachable", message: "The caller cannot be reached" });
  const delivery = {
    owner: session.key,
    send: (request: string) => outlet.send(request, false),
    signal,
    timeoutMs: runtime.limits.askTimeoutMs,
  };
  const answers: Record<string, Answer> = {};
  const pending = Object.entries<Question>(questions).map(async ([key, question]) => {
    const answer = await runtime.questions.ask(question, delivery);
    if (answer.ok) answers[key] = answer.value;
    return answer;
  });
  for (const answer of await Promise.all(pending)) if (!answer.ok) return answer;
  return success(answers as Answers<Key>);
}
