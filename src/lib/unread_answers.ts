/**
 * Large answers that lie with the network because their callers do not read them, by caller. They are held twice, as text
 * and as bytes: sixty of 4 MB took 590 MiB. So a caller's next dear call waits until they are read, and is refused when
 * that takes long.
 */

/** Answers up to this size lie in the buffers of the connection. */
export const smallAnswerCharacters = 65_536;
/** What a caller may leave unread before its next call waits. */
const maxUnreadCharacters = 8 * 1024 * 1024;
const patienceMs = 10_000;

const unread = new Map<string, { characters: number; readonly waiting: Set<() => void> }>();

/** Notes an answer on its way to the caller's `peer`, which is asked nothing for a small one: streams have many. */
export function noteAnswer(caller: string, characters: number, peer: { readonly answerSent?: Promise<void> }): void {
  if (characters <= smallAnswerCharacters || peer.answerSent === undefined) return;
  const own = unread.getOrInsertComputed(caller, () => ({ characters: 0, waiting: new Set() }));
  own.characters += characters;
  void peer.answerSent.then(() => {
    own.characters -= characters;
    if (own.characters === 0) unread.delete(caller);
    if (own.characters <= maxUnreadCharacters) { for (const wake of own.waiting) wake(); }
  });
}

/** `null` where the caller's answers are read; else whether they are in time. Where the signal has it, the call is given up. */
export function whenAnswersAreRead(caller: string, signal: () => AbortSignal): Promise<boolean> | null {
  const own = unread.get(caller);
  if (own === undefined || own.characters <= maxUnreadCharacters) return null;
  const givenUp = signal();
  if (givenUp.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (isRead: boolean): void => {
      clearTimeout(timer);
      givenUp.removeEventListener("abort", giveUp);
      own.waiting.delete(wake);
      resolve(isRead);
    };
    const wake = (): void => end(true);
    const giveUp = (): void => end(false);
    const timer = setTimeout(giveUp, patienceMs);
    own.waiting.add(wake);
    givenUp.addEventListener("abort", giveUp);
  });
}
