import assert from "node:assert/strict";
import fc from "fast-check";
import { replaceText } from "../../src/workspace/text/edit.ts";

const bounds = { name: "n.txt", maxBytes: 1_000_000, maxDiffCharacters: 50_000 };

Deno.test("replaceText() replaces one exact occurrence and shows it as a unified diff", () => {
  const text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";
  const edited = replaceText(text, { oldText: "five", newText: "5\n5½", all: false }, bounds);
  assert.deepEqual(edited, {
    ok: true,
    value: {
      text: "one\ntwo\nthree\nfour\n5\n5½\nsix\nseven\neight\n",
      count: 1,
      diff: "--- a/n.txt\n+++ b/n.txt\n@@ -2,7 +2,8 @@\n two\n three\n four\n-five\n+5\n+5½\n six\n seven\n eight\n",
    },
  });
});

Deno.test("replaceText() refuses what is not there, not unique, empty or without effect", () => {
  const refusal = (oldText: string, newText = "x"): unknown => {
    const edited = replaceText("a b a", { oldText, newText, all: false }, bounds);
    return edited.ok ? null : edited.error;
  };
  assert.deepEqual(refusal("c"), { reason: "not_there" });
  assert.deepEqual(refusal("a"), { reason: "not_unique", count: 2 });
  assert.deepEqual(refusal(""), { reason: "empty_old_text" });
  assert.deepEqual(refusal("a", "a"), { reason: "same_text" });
});

Deno.test("replaceText() inserts the new text as it is, without patterns", () => {
  const edited = replaceText("a.b$1", { oldText: ".b", newText: "$& $1 $$", all: false }, bounds);
  assert.equal(edited.ok && edited.value.text, "a$& $1 $$$1");
});

Deno.test("the diff applied strictly turns the old text into the new, for random texts and replacements", () => {
  const text = fc.array(fc.constantFrom("a", "b", "ab", "\n", "\n", "c"), { maxLength: 60 }).map((parts) =>
    parts.join("")
  );
  const piece = fc.array(fc.constantFrom("a", "b", "\n", "c"), { maxLength: 3 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, piece, piece, (before, oldText, newText) => {
      const edited = replaceText(before, { oldText, newText, all: true }, bounds);
      fc.pre(edited.ok);
      assert.equal(edited.value.text, before.replaceAll(oldText, () => newText));
      assert.equal(applyDiff(before, edited.value.diff), edited.value.text, edited.value.diff);
    }),
    { numRuns: 3000 },
  );
});

Deno.test("replaceText() refuses a result over the limit by its size, which it need not make to know", () => {
  const refusal = (text: string, oldText: string, newText: string, maxBytes: number): unknown => {
    const edited = replaceText(text, { oldText, newText, all: true }, { ...bounds, maxBytes });
    return edited.ok ? edited.value.text : edited.error;
  };
  const [text, newText] = ["a".repeat(1_000_000), "\n".repeat(1_000_000)]; // 10^12 characters: nothing could hold them
  assert.deepEqual(refusal(text, "a", newText, 1_000_000), {
    reason: "too_large",
    sizeBytes: 1e12,
    limitBytes: 1_000_000,
  });
  assert.deepEqual(refusal("aüa", "a", "ü", 5), { reason: "too_large", sizeBytes: 6, limitBytes: 5 });
  assert.equal(refusal("aüa", "a", "ü", 6), "üüü");
});

Deno.test("replaceText() makes of a diff no more than it shows, and the counts of a cut one are right", () => {
  const cases = [
    ["a\n".repeat(100_000), "a", "b"],
    ["a\n".repeat(100_000), "\n", "x"], // every line is joined to the next
    ["a".repeat(100_000), "a", "\n"],
    [`${"a".repeat(100_000)}\n`, "a", "ab"],
  ] as const;
  for (const [text, oldText, newText] of cases) {
    const edited = replaceText(text, { oldText, newText, all: true }, { ...bounds, maxDiffCharacters: 500 });
    assert.ok(edited.ok);
    const { diff } = edited.value;
    assert.ok(diff.length < 600 && diff.endsWith("(the diff is longer and cut here)\n"), diff.slice(0, 700));
    const whole = replaceText(text, { oldText, newText, all: true }, { ...bounds, maxDiffCharacters: 10_000_000 });
    assert.ok(whole.ok);
    const [, , header = ""] = diff.split("\n");
    assert.equal(header, whole.value.diff.split("\n")[2]);
    assert.equal(applyDiff(text, whole.value.diff), whole.value.text);
  }
});

/** Applies a unified diff; line numbers, counts, context and missing line ends must all be right. */
function applyDiff(text: string, diff: string): string {
  const old = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const [header, name, ...lines] = diff.split(/(?<=\n)/);
  assert.deepEqual([header, name], ["--- a/n.txt\n", "+++ b/n.txt\n"]);
  const result: string[] = [];
  let at = 0;
  for (let index = 0; index < lines.length;) {
    const numbers = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@\n$/.exec(lines[index++] ?? "")?.slice(1).map(Number);
    assert.ok(numbers);
    const [oldStart = 0, oldCount = 0, newStart = 0, newCount = 0] = numbers;
    while (at < (oldCount === 0 ? oldStart : oldStart - 1)) result.push(old[at++] ?? "");
    assert.equal(result.length, newCount === 0 ? newStart : newStart - 1);
    const oldEnd = at + oldCount;
    const newEnd = result.length + newCount;
    for (; index < lines.length && !(lines[index] ?? "").startsWith("@@"); index++) {
      const line = lines[index] ?? "";
      const isLast = (lines[index + 1] ?? "").startsWith("\\ ");
      const content = isLast ? line.slice(1, -1) : line.slice(1);
      if (!line.startsWith("+")) assert.equal(old[at++], content);
      if (!line.startsWith("-")) result.push(content);
      if (isLast) index++;
    }
    assert.deepEqual([at, result.length], [oldEnd, newEnd]);
  }
  return [...result, ...old.slice(at)].join("");
}
