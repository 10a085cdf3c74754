/** The tool `file_undo`: lists and undoes changes of the same user and client. */
import * as z from "zod";
import { lazyObject } from "../../lib/lazy_object.ts";
import { defineTool, emptyIsAbsent, type Tool, type ToolContext, type ToolOutcome } from "../../mcp/mod.ts";
import type { Change } from "../workspace/change.ts";
import { showName, toPathText } from "../workspace/path.ts";
import { pathOf, undoChange, type UndoFailure, type UndoProblem } from "../text/undo.ts";
import { type Failure, refuse, toFailure } from "./refusal.ts";
import type { Principal } from "../../lib/principal.ts";
import { stateOf } from "../workspace/entry_state.ts";
import { type Trash, type Workspace, type WorkspaceSource } from "../workspace/port.ts";
import { toolFrames } from "./argument_names.ts";
import { count, textAnswer, toTimestamp } from "./input.ts";
import { beginChange } from "./batch.ts";

const toolName = "file_undo";
/** Changes of one list. */
const maxListed = 20;
/** Changes of all callers that are looked at for those of one. */
const maxLookedAt = 5_000;
/** Paths of one change that are shown. */
const maxShownPaths = 3;

const changeOutput = lazyObject(() => ({
  change: z.string(),
  time: z.string(),
  tool: z.string(),
  did: z.string().optional().describe("What else than moving a file_move did"),
  paths: z.array(z.string()).describe("The first of them"),
  path_count: z.int(),
  undone_by: z.string().optional(),
  redone_by: z.string().optional(),
}));

/** The tool that `app` registers to list and undo changes. A caller sees those of the same user and client alone. */
export function fileUndoTool(source: WorkspaceSource): Tool {
  return defineTool({
    ...toolFrames.undo,
    description: "Lists your last changes, or undoes one, after later ones too where that is safe.",
    places: [""],
    input: lazyObject(() => ({
      change: z.string().optional().describe("From the list, or last; absent to list").meta(emptyIsAbsent),
    })),
    output: lazyObject(() => ({
      changes: z.array(changeOutput).optional(),
      undone: z.string().optional().describe("The change that was undone"),
      undone_by: z.string().optional().describe("The change that undid it"),
      paths: z.array(z.string()).optional(),
    })),
    async preview({ change: wanted }: { readonly change?: string }, { principal }) {
      const { trash } = source(principal);
      if (trash === null) return nothingKept;
      if (wanted === undefined) return "Lists the last changes of this client";
      const change = await wantedChange(trash, principal, wanted);
      return "code" in change ? change : await previewUndo(source(principal), change);
    },
    async run({ change: wanted }, context) {
      const { trash } = source(context.principal);
      if (trash === null) return nothingKept;
      if (wanted === undefined) return await listChanges(trash, context.principal);
      const change = await wantedChange(trash, context.principal, wanted);
      return "code" in change ? change : await undo(source, context, trash, change);
    },
  });
}

const nothingKept = { ok: false, code: "nothing_kept", message: "This server does not keep changes" } as const;

async function wantedChange(trash: Trash, principal: Principal, wanted: string): Promise<Change | Failure> {
  const change = wanted === "last" ? await lastChange(trash, principal) : await trash.find(wanted);
  if (change !== null && isOwn(change, principal)) return change;
  const message = wanted === "last"
    ? "There is no change of yours to undo (last passes over undoings: name one to undo it)"
    : "There is no such change of yours; call file_undo without change for the list";
  return { ok: false, code: "not_found", message };
}

/** For the person who decides: all that the undo may touch, as it is now. */
async function previewUndo(workspace: Workspace, change: Change): Promise<ToolOutcome> {
  const { id, at, steps } = change;
  const lines = [`Undoes ${toolOf(change)} of ${toTimestamp(at).slice(0, 19)}Z (change ${id}):`];
  const versions: (string | null)[] = [];
  for (const path of new Set(steps.map(({ step }) => step.path))) {
    const { words, version } = await stateOf(workspace, pathOf(path), true);
    lines.push(`- ${showName(path)} (now: ${words})`);
    versions.push(version);
  }
  const madeFrom = versions.includes(null) ? null : JSON.stringify(versions);
  return { ok: true, content: [{ type: "text", text: lines.join("\n") }], madeFrom };
}

async function undo(source: WorkspaceSource, context: ToolContext, kept: Trash, change: Change): Promise<ToolOutcome> {
  const changing = beginChange(source, context, toolName);
  const { trash } = changing.workspace;
  if (trash === null) throw new TypeError("a workspace that begins changes without keeping them");
  const undone = await undoChange({ ...changing.workspace, trash }, change);
  if (!undone.ok) {
    const later = "path" in undone.error.problem
      ? await laterChange(kept, context.principal, change, undone.error.problem.path)
      : null;
    return toUndoFailure(change, undone.error, later);
  }
  const by = changing.change ?? "";
  await trash.noteUndone(change.id, by);
  const paths = undone.value.map(toPathText);
  return textAnswer(`Undid ${toolOf(change)} of ${shownPaths(undone.value)}; undo ${by} to redo it`, {
    undone: change.id,
    undone_by: by,
    paths,
  });
}

async function listChanges(trash: Trash, principal: Principal): Promise<ToolOutcome> {
  const lines: string[] = [];
  const changes: z.output<typeof changeOutput>[] = [];
  const undoings = new Map<string, string | null>(); // and what undid each: they are newer than what they undo
  for await (const change of ownChanges(trash, principal)) {
    const { id, at, by, undoneBy } = change;
    if (isUndoing(change)) undoings.set(id, undoneBy);
    const redoneBy = redoing(undoings, undoneBy);
    const paths = [...new Set(change.steps.map(({ step }) => step.path))];
    const state = (undoneBy === null ? "" : `, undone by ${undoneBy}`) +
      (redoneBy === null ? "" : `, redone by ${redoneBy}`);
    const source = shownSource(change);
    const did = didOf(change);
    lines.push(`${id} ${toTimestamp(at).slice(0, 19)}Z ${toolOf(change)} ${shownPaths(paths)}${source}${state}`);
    changes.push({
      change: id,
      time: toTimestamp(at),
      tool: by?.tool ?? "",
      ...did === undefined ? {} : { did },
      paths: paths.slice(0, maxShownPaths).map(toPathText),
      path_count: paths.length,
      ...undoneBy === null ? {} : { undone_by: undoneBy },
      ...redoneBy === null ? {} : { redone_by: redoneBy },
    });
    if (changes.length === maxListed) break;
  }
  const text = lines.length === 0 ? "No changes of yours are kept" : lines.join("\n");
  return textAnswer(text, { changes });
}

/** What made a change again that `undoneBy` undid: the newest of the undoings that undid one another, where it did. */
function redoing(undoings: ReadonlyMap<string, string | null>, undoneBy: string | null): string | null {
  let newest = undoneBy;
  let isUndone = true;
  for (let by; newest !== null && (by = undoings.get(newest) ?? null) !== null; newest = by) isUndone = !isUndone;
  return isUndone ? null : newest;
}

/** The newest that is not undone: a change, or what redid one. Other undoings are undone by their ids. */
async function lastChange(trash: Trash, principal: Principal): Promise<Change | null> {
  const open: Change[] = []; // not undone
  const undoneBy = new Map<string, Change>();
  for await (const change of ownChanges(trash, principal)) {
    if (change.undoneBy === null) open.push(change);
    else undoneBy.set(change.undoneBy, change);
    const [newest] = open;
    if (newest !== undefined && !isUndoing(newest)) return newest;
  }
  /** What undid an undoing that was no redo itself. */
  const isRedo = ({ id }: Change): boolean => {
    const undone = undoneBy.get(id);
    return undone !== undefined && isUndoing(undone) && !isRedo(undone);
  };
  return open.find((change) => !isUndoing(change) || isRedo(change)) ?? null;
}

function isUndoing({ by }: Change): boolean {
  return by?.tool === toolName;
}

/** The newest change since, of the same user and client, that is in the way. */
async function laterChange(trash: Trash, principal: Principal, { id }: Change, path: string): Promise<string | null> {
  for await (const later of ownChanges(trash, principal)) {
    if (later.id <= id) return null;
    if (!isUndoing(later) && later.undoneBy === null && later.steps.some(({ step }) => isAbout(step.path, path))) {
      return later.id;
    }
  }
  return null;
}

function isAbout(changed: string, path: string): boolean {
  return changed === path || changed.startsWith(`${path}/`) || path.startsWith(`${changed}/`);
}

/** The changes of the same user and client, the newest first. */
export async function* ownChanges(trash: Trash, principal: Principal): AsyncGenerator<Change> {
  let lookedAt = 0;
  for await (const change of trash.changes()) {
    if (isOwn(change, principal) && change.steps.length > 0) yield change;
    if (++lookedAt === maxLookedAt) return;
  }
}

function isOwn({ by }: Change, { subject, clientId }: Principal): boolean {
  return by !== null && by.subject === subject && by.clientId === clientId;
}

/** What else than moving a `file_move` did; to another directory of the workspace it moves by a step that removes. */
function didOf({ by, steps }: Change): string | undefined {
  if (by?.tool !== "file_move" || steps.some(({ step: { op } }) => op === "move" || op === "remove")) return undefined;
  return steps.some(({ step }) => step.op === "put") ? "a copy" : "a new directory";
}

function toolOf(change: Change): string {
  const did = didOf(change);
  return `${change.by?.tool}${did === undefined ? "" : `, ${did}`}`;
}

/** Where a move came from. */
function shownSource({ steps }: Change): string {
  const moved = steps.find(({ step }) => step.op === "move")?.step;
  return moved?.op === "move" ? ` (from ${showName(moved.from)})` : "";
}

function shownPaths(paths: readonly string[]): string {
  const shown = paths.slice(0, maxShownPaths).map(showName).join(", ");
  const rest = paths.length - maxShownPaths;
  return rest > 0 ? `${shown} and ${count(rest, "further path")}` : shown;
}

/** Why a change was not undone, for `file_undo` and the console; `later`: a change of the same caller that is in the way. */
export function toUndoFailure({ id }: Change, { problem, undone }: UndoFailure, later: string | null): ToolOutcome {
  const { code, words } = wordsOf(problem, later);
  const rest = undone.length === 0 ? "; nothing was changed" : `; undone so far: ${undone.map(showName).join(", ")}`;
  return refuse(`undo ${id}`, `${words}${rest}`, code);
}

function wordsOf(problem: UndoProblem, later: string | null): { readonly code: string; readonly words: string } {
  const { reason: code } = problem;
  if (code === "undone") return { code, words: `change ${problem.by} undid it already` };
  if (code === "refused") {
    const failed = toFailure("undo", pathOf(problem.path), problem.refusal);
    return { code: failed.code, words: failed.message.replace("Failed to undo: ", "") };
  }
  const name = showName(problem.path);
  if (code === "not_kept") return { code, words: `what was at ${name} is no longer kept` };
  const words = {
    changed_since: `${name} was changed since`,
    taken: `there is something new at ${name}`,
    not_empty: `${name} is not empty`,
  };
  return { code, words: `${words[code]}${later === null ? "" : ` (undo ${later} first)`}` };
}
