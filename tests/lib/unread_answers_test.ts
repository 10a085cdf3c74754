/** Answers that their callers do not read. */
import assert from "node:assert/strict";
import { noteAnswer, whenAnswersAreRead } from "../../src/lib/turns.ts";

const mebibyte = 1024 * 1024;
const never = (): AbortSignal => new AbortController().signal;

Deno.test("a caller waits while more than 8 MiB of its answers are unread, and no other caller does", async () => {
  const sent = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  for (const { promise } of sent) noteAnswer("slow", 4 * mebibyte, { answerSent: promise });
  assert.equal(whenAnswersAreRead("quick", never), null);
  const waiting = [1, 2].map(() => whenAnswersAreRead("slow", never));
  assert.ok(waiting.every((each) => each !== null));
  sent[0]?.resolve();
  assert.deepEqual(await Promise.all(waiting), [true, true]);
  assert.equal(whenAnswersAreRead("slow", never), null);
  for (const { resolve } of sent) resolve();
});

Deno.test("small answers, and those of which nobody learns whether they were sent, are not counted", () => {
  const peer = {
    get answerSent(): Promise<void> {
      throw new Error("a stream asks for each of its messages, and what is given is kept until its end");
    },
  };
  for (let time = 0; time < 1_000; time++) noteAnswer("small", 65_536, peer);
  noteAnswer("small", 100 * mebibyte, {});
  assert.equal(whenAnswersAreRead("small", never), null);
});

Deno.test("who gives its call up waits no longer", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  noteAnswer("gone", 9 * mebibyte, { answerSent: promise });
  const leaving = new AbortController();
  const waiting = whenAnswersAreRead("gone", () => leaving.signal);
  leaving.abort();
  assert.equal(await waiting, false);
  const gone = whenAnswersAreRead("gone", () => leaving.signal);
  assert.equal(await Promise.race([gone, new Promise((resolve) => setTimeout(resolve))]), false, "nor begins to wait");
  resolve();
});
