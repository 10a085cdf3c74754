/** Changes of files for the console: what one did, as a difference while the trash keeps it, and undoing it. */
import type { Principal } from "../../lib/principal.ts";
import type { Visitor } from "../../oauth/mod.ts";
import { counted } from "../../lib/counted.ts";
import { type Html, html } from "../../lib/page.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import * as files from "../../files/mod.ts";
import type { Change, Kept, NumberedStep, PutStep, Trash, Workspace } from "../../files/mod.ts";
import { actButton } from "./frame.ts";
import { type ActVisit, ago, type ConsoleSources, differenceBlock, type Section, type Visit } from "./section.ts";

const maxShownSteps = 20;
/** Of each text that a difference is made of. */
const maxTextBytes = 1_048_576;
/** Of files, read to judge which changes of a page can be undone; and what a step counts for beside its file. */
const maxJudgedBytes = 8_388_608;
const bytesOfStep = 65_536;
/** Who the trash says undid a change from the console. */
const consoleClientId = "portcullis-console";

/** Why groups or a rule keep the visitor from using a tool on a path, or `null`. */
type RuledOut = (visitor: Visitor, tool: string, path: string) => Promise<string | null>;

/** The changes of everyone's files. */
export type Changes = ReturnType<typeof createChanges>;

export function createChanges({ workspace: source, documents, log, isUser }: ConsoleSources, ruledOut: RuledOut) {
  /** `null` when there is no such change of this person, or it is no longer kept. */
  const find = async (id: string, person: string) => {
    // each name that is asked for would be opened, and get a directory
    if (!await isUser(person)) return null;
    const workspace = files.workspaceOf(source, personOf(person));
    const { trash } = workspace;
    const change = await trash?.find(id) ?? null;
    if (trash === null || change?.by?.subject !== person) return null;
    return { workspace: { ...workspace, trash }, change, access: { documents, caller: person } };
  };
  return {
    find,
    /** Undoes the change that a form names; what became of it, in words. */
    async undo({ by, form }: ActVisit): Promise<Result<string, string>> {
      const missing = missingScope(by, "files:write");
      if (missing !== null) return failure(missing);
      const found = await find(form.get("id") ?? "", whoseOf(by, form));
      if (found === null) return failure("This change is no longer kept.");
      const { change, workspace: { trash } } = found;
      const why = await whyNotUndone(by, change, ruledOut);
      if (why !== null) return failure(why);
      let made: string | null = null;
      const workspace = found.workspace.begin(authorOf(by.userId), (own) => {
        made = own;
      });
      if (workspace.trash === null) return failure("This server does not keep changes.");
      const undone = await files.undoChange({ ...workspace, trash: workspace.trash }, change);
      if (!undone.ok) return failure(undoWords(change, undone.error));
      await trash.noteUndone(change.id, made ?? "");
      const what = undone.value.map(files.showName).join(", ");
      const whose = change.by?.subject === by.userId ? "" : ` of ${change.by?.subject}`; // each may have a workspace
      const { userId: user, address } = by;
      log.write("audit", "change_undone", { user, address, outcome: "ok", what: what + whose });
      return success(`Undid ${change.by?.tool} of ${what}.`);
    },
  };
}

/** Why the visitor may not write what undoing the change would write, or `null`. */
async function whyNotUndone(visitor: Visitor, { steps }: Change, ruledOut: RuledOut): Promise<string | null> {
  for (const path of new Set(steps.flatMap(({ step }) => step.op === "move" ? [step.path, step.from] : step.path))) {
    const why = await ruledOut(visitor, "file_write", path);
    if (why !== null) return why;
  }
  return null;
}

/** The page of one change, reached from Activity. */
export function changeSection({ find, undo }: Changes, ruledOut: RuledOut): Section {
  return {
    name: "change",
    title: "Change",
    place: "activity",
    unlisted: true,
    async show(visit) {
      const { visitor, query, now, href } = visit;
      const [id, person] = [query.get("id") ?? "", whoseOf(visitor, query)];
      const back = html`<p><a href="${href("activity")}">Back to Activity</a></p>`;
      const missing = missingScope(visitor, "files:read");
      const found = missing === null ? await find(id, person) : null;
      if (found === null) {
        return html`<p>${missing ?? "This change is not kept any more, or does not exist."}</p>${back}`;
      }
      const { change, workspace } = found;
      const steps = files.joinOwn(change.steps);
      const blocks: string[] = [];
      for (const numbered of steps.slice(0, maxShownSteps)) {
        const { op, path } = numbered.step;
        const hidden = op === "put" ? await ruledOut(visitor, "file_read", path) : null;
        const text = hidden === null && await stepText(found, numbered);
        blocks.push(text || `changed ${files.showName(path)}: ${hidden}`);
      }
      const rest = steps.length - blocks.length;
      if (rest > 0) blocks.push(`... and ${rest} more ${rest === 1 ? "step" : "steps"}`);
      const undoing = actButton(visit, "change", "undo", "Undo this change", { values: { id, person } });
      return html`
        <p><strong>${change.by?.tool}</strong>${visitor.seesOthers && `, for ${person}`}, ${ago(change.at, now)}</p>
        ${differenceBlock(blocks.join("\n"), "What it changed")}
        <div>${await undoParts(visit, ruledOut, Infinity)(workspace, change, undoing)}</div>
        ${back}
      `;
    },
    acts: {
      undo: {
        run: undo,
        view: ({ form, by }) => ({ id: form.get("id") ?? "", person: whoseOf(by, form) }),
      },
    },
  };
}

/**
 * What stands for undoing a change, for each of a page: `button` where that would work now, else why not. Once the next
 * one takes more than `left` to judge, a link to its own page.
 */
export function undoParts(visit: Visit, ruledOut: RuledOut, left = maxJudgedBytes) {
  return async (workspace: Workspace & { readonly trash: Trash }, change: Change, button: Html): Promise<Html> => {
    const { id, by, steps, undoneBy } = change;
    if (undoneBy !== null) return html`<span class="badge">undone</span>`;
    const looked = steps.slice(0, maxJudgedBytes / bytesOfStep);
    const infos = await Promise.all(looked.map(({ step }) => workspace.stat(files.pathOf(step.path))));
    const cost = infos.reduce((sum, info) => sum + (info.ok ? info.value.sizeBytes : 0), steps.length * bytesOfStep);
    if (cost > left) return html`<a href="${visit.href("change", { id, person: by?.subject ?? "" })}">Undo…</a>`;
    left -= cost;
    const forbidden = await whyNotUndone(visit.visitor, change, ruledOut);
    const planned = forbidden === null ? await files.planUndo(workspace, change) : null;
    const why = planned?.ok === false ? undoWords(change, planned.error) : forbidden;
    return why === null ? button : html`<span class="quiet">${why}</span>`;
  };
}

function undoWords(change: Change, error: Parameters<typeof files.toUndoFailure>[1]): string {
  const outcome = files.toUndoFailure(change, error, null);
  const why = outcome.ok ? "" : outcome.message.replaceAll(/^Failed to undo \w+: |; nothing was changed$/g, "");
  return `This change cannot be undone: ${why}.`;
}

/** Whose change is meant: everyone but administrators sees and undoes their own. */
function whoseOf({ isAdministrator, userId }: Visitor, named: URLSearchParams): string {
  return isAdministrator ? named.get("person") ?? userId : userId;
}

/** Whether groups keep the visitor from what they keep their applications from; in words, or `null`. */
export function missingScope({ mayGrant }: Visitor, scope: string): string | null {
  return mayGrant?.has(scope) === false ? `Your groups do not give you ${scope}.` : null;
}

/** Who the trash says made a change from the console. */
export function authorOf(subject: string) {
  return { subject, clientId: consoleClientId, grantId: consoleClientId, tool: "console" };
}
type Found = NonNullable<Awaited<ReturnType<Changes["find"]>>>;

/** Whose workspace is meant; nothing is called in this name. */
export function personOf(subject: string): Principal {
  return { ...authorOf(subject), tokenId: consoleClientId, keyId: null, scopes: new Set(), expiresAt: 0 };
}

async function stepText(found: Found, numbered: NumberedStep): Promise<string> {
  const { step } = numbered;
  const name = files.showName(step.path);
  if (step.op === "make") return `made the directory ${name}`;
  if (step.op === "remove") return `deleted ${name}${step.kept === null ? "" : ` (${keptWords(step.kept)})`}`;
  if (step.op === "move") return `moved ${files.showName(step.from)} to ${name}`;
  const verb = step.created ? "created" : step.passages === undefined ? "replaced" : "changed";
  if (step.kind !== "file") return `put ${name}`;
  const sides = await sidesOf(found, { ...numbered, step });
  if (sides !== null) {
    return `${verb} ${name}:\n${files.showExactly(await files.differenceOf(sides.before, sides.after))}`;
  }
  const { passages = [] } = step;
  if (passages.length === 0) return `${verb} ${name} (what it wrote is no longer there, or is no text)`;
  // The file was changed since: where the places were is no longer known.
  const places = await Promise.all(passages.map(async ({ before, after }, index) => {
    const lines = await files.differenceOf(before, after);
    return lines.replaceAll(/^@@ .* @@$/gm, `@@ place ${index + 1} of ${passages.length} @@`);
  }));
  return `${verb} ${name}:\n${files.showExactly(places.join("\n"))}`;
}

function keptWords({ entries, sizeBytes }: Kept): string {
  return `${counted(entries, "entry", "entries")}, ${counted(sizeBytes, "byte")}`;
}

/** The whole file before a step and after it; `null` where it is not known any more, or is no text. */
async function sidesOf(
  { workspace, change: { id }, access }: Found,
  { number, step }: NumberedStep & { readonly step: PutStep },
): Promise<{ readonly before: string; readonly after: string } | null> {
  const { trash } = workspace;
  const path = files.pathOf(step.path);
  const isLeft = await trash.isAsLeft(path, step.left);
  const bytes = isLeft.ok && isLeft.value ? await bytesIn(workspace, path, access) : null;
  const after = bytes === null ? null : await textOf(bytes);
  const { passages = [], created, kept, sizeBefore } = step;
  const item = { change: id, number };
  const old = sizeBefore !== undefined
    ? bytes?.subarray(0, sizeBefore)
    : kept && await bytesIn(files.withKept(workspace, trash, item, kept.sizeBytes), path, access);
  const before = created ? "" : old ? await textOf(old) : null;
  if (after !== null) {
    const reverted = before ?? (passages.length === 0 ? null : files.revertPassages(after, passages));
    return reverted === null ? null : { before: reverted, after };
  }
  if (before === null || passages.length === 0) return null;
  const turned = passages.map((each) => ({ before: each.after, after: each.before }));
  const edited = files.revertPassages(before, turned);
  return edited === null ? null : { before, after: edited };
}

/** A file's bytes, of a document those of its text. */
export async function bytesIn(...file: Parameters<typeof files.readToCompare>): Promise<Uint8Array | null> {
  const read = await files.readToCompare(...file);
  return read.ok ? read.value.bytes : null;
}

export async function textOf(bytes: Uint8Array): Promise<string | null> {
  return bytes.byteLength > maxTextBytes ? null : (await files.decodeText(bytes))?.text ?? null;
}
