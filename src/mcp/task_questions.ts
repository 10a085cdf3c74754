/** The questions of one task, asked through `tasks/get` and answered through `tasks/update`. */
import { failure, type Result, success } from "../lib/result.ts";
import { type Answer, type Answers, type AskFailure, parseAnswer, type Question, type Questions } from "./question.ts";

interface TaskQuestions {
  /** Those that wait for an answer. */
  open(): Questions;
  /** Puts questions; `onChange` is called once they are open. Resolves when all of them are answered. */
  ask<Key extends string>(
    questions: Questions<Key>,
    onChange: () => Promise<void>,
  ): Promise<Result<Answers<Key>, AskFailure>>;
  /** Takes answers to open questions and ignores all others; gives the key of one of the wrong shape. */
  take(responses: Readonly<Record<string, unknown>>): string | null;
  /** Lets the tool go on when nothing is open any more; says whether it does. */
  proceed(): boolean;
}

export function createTaskQuestions(): TaskQuestions {
  const open = new Map<string, Question>();
  const answers = new Map<string, Answer>();
  let onAnswered: (() => void) | null = null;

  /** Each key means one question for the whole life of a task (SEP-2663): one that was used before gets a number. */
  const freeName = (key: string): string => {
    let name = key;
    for (let number = 2; answers.has(name) || open.has(name); number += 1) name = `${key}#${number}`;
    return name;
  };

  return {
    open: () => Object.fromEntries(open),
    async ask<Key extends string>(questions: Questions<Key>, onChange: () => Promise<void>) {
      const names = new Map<Key, string>();
      for (const key of Object.keys(questions) as Key[]) {
        const name = freeName(key);
        names.set(key, name);
        open.set(name, questions[key]);
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      onAnswered = resolve;
      try {
        await onChange();
      } catch (error) {
        for (const name of names.values()) open.delete(name); // the client never sees them
        throw error;
      }
      await promise;
      const given: Record<string, Answer> = {};
      for (const [key, name] of names) {
        const answer = answers.get(name);
        if (answer === undefined) return failure({ reason: "unreachable", message: "There is no answer" });
        given[key] = answer;
      }
      return success(given as Answers<Key>);
    },
    take(responses) {
      for (const [key, response] of Object.entries(responses)) {
        const question = open.get(key);
        if (question === undefined) continue; // never asked, or answered already
        const answer = parseAnswer(question, response);
        if (answer === null) return key;
        answers.set(key, answer);
        open.delete(key);
      }
      return null;
    },
    proceed() {
      if (open.size > 0) return false;
      onAnswered?.();
      return true;
    },
  };
}
