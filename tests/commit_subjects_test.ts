/** The subjects of the change's own commits: short, and no left-over of work in progress. */
import assert from "node:assert/strict";
import { hasProgram, skippedUnless } from "./fixtures/skipped_unless.ts";

const maxSubjectCharacters = 72;

/** Subjects are checked from the commit after this one on. */
const lastUnchecked = "cf73fa531603a92da46d8c860b10f088e369b2e9";

function faultOf(subject: string): string | null {
  if (subject.length > maxSubjectCharacters) return `over ${maxSubjectCharacters} characters`;
  if (/^(?:x+|wip|tmp|fixup!|squash!)(?:\W|$)/i.test(subject) || !subject.includes(" ")) return "says nothing";
  return null;
}

function git(...args: readonly string[]): string | null {
  if (!hasProgram("git")) return null;
  const cwd = new URL("..", import.meta.url);
  const { success, stdout } = new Deno.Command("git", { args: [...args], cwd, stderr: "null" }).outputSync();
  return success ? new TextDecoder().decode(stdout).trim() : null;
}

/** The commits that main does not have; on main itself, all that are checked. `null` without a history. */
function ownSubjects(): readonly string[] | null {
  const isKnown = git("merge-base", "--is-ancestor", lastUnchecked, "HEAD") !== null;
  for (const base of ["origin/main", "main", ...(isKnown ? [lastUnchecked] : [])]) {
    const log = git("log", "--no-merges", "--format=%s", `${base}..HEAD`, `^${isKnown ? lastUnchecked : base}`);
    if (log !== null && log !== "") return log.split("\n");
  }
  return isKnown ? [] : null;
}

Deno.test("commit subjects: long and empty ones are told from good ones", () => {
  assert.equal(faultOf("rate limit: evict keys in batches"), null);
  for (const subject of ["x", "wip", "WIP: more", "fixup! y", "mend", `a ${"b".repeat(71)}`]) {
    assert.notEqual(faultOf(subject), null, subject);
  }
});

const subjects = ownSubjects();
Deno.test({
  ...skippedUnless(subjects !== null, "there is no history", "commit subjects: those of this change are good"),
  fn() {
    const faults = (subjects ?? []).map((subject) => ({ subject, fault: faultOf(subject) }));
    assert.deepEqual(faults.filter(({ fault }) => fault !== null), []);
  },
});
