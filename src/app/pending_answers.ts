/** Questions that were posted to another thread, waiting for their answers. */
interface PendingAnswers<Answer> {
  /** Posts a question with a number of its own; its answer never comes where the other thread ends first. */
  ask(post: (id: number) => void): Promise<Answer>;
  answer(id: number, answer: Answer): void;
}

export function createPendingAnswers<Answer>(): PendingAnswers<Answer> {
  const pending = new Map<number, (answer: Answer) => void>();
  let asked = 0;
  return {
    ask: (post) =>
      new Promise((resolve) => {
        pending.set(++asked, resolve);
        post(asked);
      }),
    answer(id, answer) {
      pending.get(id)?.(answer);
      pending.delete(id);
    },
  };
}
