/**
 * Undoes a change, as a separate change. Every step is checked before the first is undone: what is there must be what
 * the step has left, or, of an edit, still hold each edited passage once. Names that are denied or protected now
 * refuse.
 */
import { nextTurn } from "../../lib/turns.ts";
import { countLineEnds, createTextFinder } from "./finder.ts";
import { shortestHunks } from "./diff.ts";
import type { Change, ChangeStep, NumberedStep, Passage, PutStep } from "../workspace/change.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome, Trash, Workspace, WorkspaceRefusal } from "../workspace/port.ts";
import { decodeText, encodeEdited } from "./encoding.ts";

/** Why a change, or a step of it, is not undone. */
export type UndoProblem =
  | { readonly reason: "undone"; readonly by: string }
  | { readonly reason: "changed_since" | "taken" | "not_empty" | "not_kept"; readonly path: string }
  | { readonly reason: "refused"; readonly path: string; readonly refusal: WorkspaceRefusal };

/** A change that could not be undone, or not to its end. */
export interface UndoFailure {
  readonly problem: UndoProblem;
  /** Paths of the steps that were undone before. */
  readonly undone: readonly string[];
}

type Undoing = Workspace & { readonly trash: Trash };
type Way = () => Promise<Outcome<unknown>>;

/** How each step would be undone, in that order, or why the change cannot be. Nothing is changed. */
export async function planUndo(workspace: Undoing, change: Change) {
  if (change.undoneBy !== null) return failed({ reason: "undone", by: change.undoneBy });
  const steps = joinOwn(change.steps).toReversed();
  const ways: { readonly path: string; readonly way: Way }[] = [];
  const freed = new Set<string>();
  for (const step of steps) {
    await nextTurn();
    const way = await wayBack(workspace, change, step, { isOnly: steps.length === 1, freed });
    if (!way.ok) return failed(way.error);
    ways.push({ path: step.step.path, way: way.value });
    if (step.step.op === "move" || (step.step.op === "put" && step.step.created)) freed.add(step.step.path);
  }
  return success(ways);
}

/** Undoes the change through a workspace that began a change for it; gives the paths, in their order. */
export async function undoChange(workspace: Undoing, change: Change): Promise<Result<readonly string[], UndoFailure>> {
  const planned = await planUndo(workspace, change);
  if (!planned.ok) return planned;
  const undone: string[] = [];
  for (const { path, way } of planned.value) {
    const back = await way();
    if (!back.ok) return failed({ reason: "refused", path, refusal: back.error }, undone);
    undone.push(path);
  }
  return success(undone.reverse());
}

function failed(problem: UndoProblem, undone: readonly string[] = []): Result<never, UndoFailure> {
  return failure({ problem, undone });
}

/** Later contents that the change wrote over its own are one step with the first. */
export function joinOwn(steps: readonly NumberedStep[]): NumberedStep[] {
  const joined: NumberedStep[] = [];
  for (const each of steps) {
    const { step } = each;
    const at = joined.findIndex((other) => other.step.op === "put" && other.step.path === step.path);
    const first = joined[at]?.step;
    if (step.op !== "put" || step.again !== true || first?.op !== "put") joined.push(each);
    else {
      const { sizeBefore } = step.sizeBefore === undefined ? step : first; // several appends are cut off together
      const { passages: _, sizeBefore: __, ...kept } = first;
      const whole = { ...kept, ...sizeBefore === undefined ? {} : { sizeBefore }, left: step.left };
      joined[at] = { number: joined[at]?.number ?? 0, step: whole };
    }
  }
  return joined;
}

/** How to undo a step, once it is known that it can be. */
async function wayBack(
  workspace: Undoing,
  change: Change,
  { number, step }: NumberedStep,
  { isOnly, freed }: { readonly isOnly: boolean; readonly freed: ReadonlySet<string> },
): Promise<Result<Way, UndoProblem>> {
  const { trash } = workspace;
  const item = { change: change.id, number };
  const path = pathOf(step.path);
  if (step.op !== "put" && "kept" in step && step.kept !== null && !await trash.holds(item)) {
    return failure({ reason: "not_kept", path: step.path });
  }
  switch (step.op) {
    case "put":
      return await undoOfPut(workspace, { number, step }, change);
    case "move": {
      const { left } = step;
      if (step.replaced === true && step.kept === null) return failure({ reason: "not_kept", path: step.path });
      const isLeft = await trash.isAsLeft(path, left);
      if (!isLeft.ok) return refused(step, isLeft.error);
      if (!isLeft.value) return failure({ reason: "changed_since", path: step.path });
      const from = pathOf(step.from);
      const free = await requireFree(workspace, from, freed);
      if (!free.ok) return free;
      return success(async () => {
        const moved = await workspace.move(path, from, { left });
        if (!moved.ok) return moved;
        if (step.kept !== null) return await trash.restore(item, path);
        await removeEmpty(workspace, path, step.made);
        return moved;
      });
    }
    case "remove": {
      const free = await requireFree(workspace, path, freed);
      if (!free.ok) return free;
      if (step.kept !== null) return success(() => trash.restore(item, path));
      return step.empty === true
        ? success(() => workspace.makeDirectory(path, { isReturning: true }))
        : failure({ reason: "not_kept", path: step.path });
    }
    case "make": {
      const listed = await workspace.list(path, { limit: 1 });
      const isFull = listed.ok && listed.value.entries.length > 0;
      if (isFull && isOnly) return failure({ reason: "not_empty", path: step.path });
      return success(async () => {
        const segments = [...path.segments, "-"]; // its directories are the path itself and those above it
        await removeEmpty(workspace, { text: segments.join("/"), segments }, step.made);
        return success(null);
      });
    }
  }
}

async function undoOfPut(
  workspace: Undoing,
  { number, step }: { readonly number: number; readonly step: PutStep },
  { id }: Change,
): Promise<Result<Way, UndoProblem>> {
  const { trash } = workspace;
  const { left } = step;
  const path = pathOf(step.path);
  const isLeft = await trash.isAsLeft(path, left);
  if (!isLeft.ok) return refused(step, isLeft.error);
  if (!isLeft.value) return await undoOfPassages(workspace, step, path);
  if (step.created) {
    return success(async () => {
      const taken = await workspace.remove(path, { recursive: true, left });
      if (taken.ok) await removeEmpty(workspace, path, step.made);
      return taken;
    });
  }
  if (step.sizeBefore !== undefined) {
    const { sizeBefore } = step;
    return success(() => trash.cutBack(path, sizeBefore, left));
  }
  const item = { change: id, number };
  if (step.kept !== null && await trash.holds(item)) return success(() => trash.restore(item, path, left));
  const back = await undoOfPassages(workspace, step, path);
  return back.ok ? back : failure({ reason: "not_kept", path: step.path });
}

/** An edit is undone in a file that was changed elsewhere since, or whose old text is not kept. */
async function undoOfPassages(
  workspace: Undoing,
  { passages = [], path: text }: PutStep,
  path: WorkspacePath,
): Promise<Result<Way, UndoProblem>> {
  const changed = failure({ reason: "changed_since", path: text } as const);
  const read = passages.length === 0 ? null : await workspace.read(path);
  if (!read?.ok || read.value.sha256 === null) return changed;
  await nextTurn(); // many may have been read at once
  const { bytes: now } = read.value;
  const decoded = await decodeText(now);
  const reverted = decoded === null ? null : revertPassages(decoded.text, passages);
  const bytes = decoded === null || reverted === null ? null : encodeEdited({ ...decoded, bytes: now }, reverted);
  if (bytes === null) return changed;
  const ifMatch = read.value.sha256;
  return success(() => workspace.write(path, bytes, { ifMatch, isReturning: true }));
}

async function requireFree(
  workspace: Workspace,
  path: WorkspacePath,
  freed: ReadonlySet<string>,
): Promise<Result<null, UndoProblem>> {
  if (freed.has(path.text)) return success(null); // by a step that is undone before
  const there = await workspace.stat(path);
  if (there.ok) return failure({ reason: "taken", path: path.text });
  const { error } = there;
  if (error.reason === "not_found") return success(null);
  return failure({ reason: "refused", path: path.text, refusal: error });
}

/** Removes the empty ones of the directories that were made on the way to `path`. */
async function removeEmpty(workspace: Workspace, path: WorkspacePath, made: number): Promise<void> {
  for (let count = 1; count <= made; count++) {
    const segments = path.segments.slice(0, -count);
    const removed = await workspace.remove({ text: segments.join("/"), segments });
    if (!removed.ok) return;
  }
}

function refused({ path }: ChangeStep, refusal: WorkspaceRefusal): Result<never, UndoProblem> {
  return failure({ reason: "refused", path, refusal });
}

/** Names as they are stored, without escapes. Where they lead is judged when they are resolved. */
export function pathOf(text: string): WorkspacePath {
  return { text, segments: text.split("/") };
}

/** Lines around a place, by which it is found again. */
const context = 2;
/** What is kept of them in all; of longer ones nothing is. */
const maxPassageCharacters = 30_000;
const maxComparedCharacters = 2_000_000;
/** Of both texts. */
const maxComparedLines = 40_000;

/** The places in which the texts differ; `undefined` where they are too many or too long. */
export async function passagesOf(before: string, after: string): Promise<readonly Passage[] | undefined> {
  if (before.length + after.length > maxComparedCharacters) return undefined;
  if (countLineEnds(before) + countLineEnds(after) > maxComparedLines) return undefined;
  const hunks = await shortestHunks(before, after, context);
  if (hunks === null) return undefined;
  const passages = hunks.map(({ lines }) => ({ before: side(lines, "-"), after: side(lines, "+") }));
  const characters = passages.reduce((sum, each) => sum + each.before.length + each.after.length, 0);
  return characters > maxPassageCharacters ? undefined : passages;
}

/** The text with its places as they were before; `null` unless each is there exactly once. */
export function revertPassages(text: string, passages: readonly Passage[]): string | null {
  let reverted = text;
  for (const { before, after } of passages.toReversed()) {
    const find = after === "" ? () => -1 : createTextFinder(after);
    const at = find(reverted, 0);
    if (at === -1 || find(reverted, at + 1) !== -1) return null;
    reverted = reverted.slice(0, at) + before + reverted.slice(at + after.length);
  }
  return reverted;
}

/** The lines of one side, as they stand in its text. */
function side(lines: readonly string[], sign: "-" | "+"): string {
  const own: string[] = [];
  for (const [index, line] of lines.entries()) {
    if (!line.startsWith(" ") && !line.startsWith(sign)) continue;
    const isLast = lines[index + 1]?.startsWith("\\") === true; // "\ No newline at end of file"
    own.push(isLast ? line.slice(1) : `${line.slice(1)}\n`);
  }
  return own.join("");
}
