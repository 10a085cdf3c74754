/**
 * Files: browse, read, search and download the visitor's own workspace, with each file's history; and changes of files:
 * what one did, as a difference while the trash keeps it, and undoing it.
 */
import * as z from "zod";
import { lazyObject } from "../../lib/lazy_object.ts";
import {
  decodeText,
  differenceOf,
  inStoredForm,
  joinOwn,
  loadDownload,
  parseDirectoryPath,
  pathOf,
  planUndo,
  readName,
  readToCompare,
  refusalWords,
  revertPassages,
  showExactly,
  showName,
  showReadably,
  toSize,
  toUndoFailure,
  undoChange,
  withKept,
} from "../../files/mod.ts";
import type { Change, Kept, NumberedStep, PutStep, Trash, Workspace, WorkspaceRefusal } from "../../files/mod.ts";
import { counted, failure, type Result, success } from "../../lib/result.ts";
import { type Html, html, seeOther } from "../../lib/page.ts";
import { nextTurn } from "../../lib/turns.ts";
import type { ToolOutcome } from "../../mcp/mod.ts";
import type { Visitor } from "../../oauth/mod.ts";
import { quietly } from "../approvals/gate.ts";
import { ruleWords } from "../approvals/rule.ts";
import { actButton } from "./frame.ts";
import { ago, dataTable, differenceBlock, personColumn } from "./section.ts";
import type { ActVisit, ConsoleSources, Section, Visit } from "./section.ts";
import type { Principal } from "../../lib/principal.ts";

const name = "files";
const entriesOfPage = 200;
const filesFound = 50;
const rowsOfHistory = 50;
/** Changes of all files that are looked at for those of one. */
const maxLookedAt = 5_000;
/** Of these, changes that rules are asked about: each of 200 rules may have a name to look up. */
const maxJudged = 200;
const maxPathCharacters = 4_096;
const maxLine = 1_000_000_000;
const maxWordsCharacters = 200;
/** Of a download, and of a version that is put back. */
const pieceBytes = 262_144;
/** Then a tool answers with what it has. */
const patienceMs = 10_000;
const notKept = "This version is no longer kept.";

/** What the pages read of the answers of `file_read` and `file_search`. */
const answer = lazyObject(() => ({
  content: z.string().optional(),
  document: z.string().optional(),
  start_line: z.int().default(1),
  next_cursor: z.string().optional(),
  matches: z.array(z.object({ filename: z.string(), line: z.int().default(0), text: z.string().default("") }))
    .default([]),
}));

function answerIn(outcome: ToolOutcome): z.output<typeof answer> {
  return answer.parse(outcome.ok ? outcome.structuredContent : {});
}

/** The section; `namesOf` gives what clients are called, by id. */
export function filesSection(
  files: OwnFiles,
  changes: Changes,
  namesOf: (clientIds: readonly string[]) => Promise<ReadonlyMap<string, string>>,
): Section {
  /** The pages about the path that the address names. */
  const pagesOf = (visit: Visit) => {
    const { visitor, query } = visit;
    const path = pathIn(query);
    const here = path || "Workspace";
    const link = (words: string, more: Readonly<Record<string, string>> = {}, kind = ""): Html =>
      html`<a href="${visit.href(name, { path, ...more })}" class="${kind}">${words}</a>`;
    return {
      frame(page: Html, words: string): Html {
        const names = path.split("/").filter((each) => each !== "");
        const above = names.map((each, index) => [" / ", link(each, { path: names.slice(0, index + 1).join("/") })]);
        return html`
          <div class="path">
            <p>${link("Workspace", { path: "" })}${above}</p>
            <form method="get" action="${visit.href(
              name,
            )}" class="row"><input type="hidden" name="path" value="${path}">
            <div><input type="text" name="find" value="${words}" maxlength="${maxWordsCharacters}"
              aria-label="Search files" placeholder="Search files" autocomplete="off"></div>
            <button type="submit" class="small">Search</button></form>
          </div>${page}
        `;
      },
      async file({ info }: OpenedPath): Promise<Html> {
        if (!info.ok) return html`${refusal(sentence(info.error))}<p>${link("History", { view: "history" })}</p>`;
        const [cursor, line] = [query.get("cursor"), Math.min(Math.trunc(Number(query.get("line"))), maxLine)];
        const from = cursor !== null ? { cursor } : line > 0 ? { start_line: line } : {};
        const outcome = await files.call(visitor, "file_read", { filename: path, numbered: false, ...from });
        files.note("file_viewed", visitor, path);
        const { sizeBytes, modifiedAt } = info.value;
        const { next_cursor: next, document } = answerIn(outcome);
        return html`
          <p class="quiet">${sizeWords(sizeBytes)}, changed ${ago(modifiedAt, visit.now)}${document &&
            `. ${showReadably(document)}`}</p>
          <p>${link("Download", { download: "1" }, "button")}${link("History", { view: "history" }, "button")}</p>
          ${contentOf(outcome, path)}
          ${next !== undefined && html`<p>${link("Next lines", { cursor: next })}</p>`}
        `;
      },
      async directory(opened: OpenedPath): Promise<Html> {
        const after = readName(query.get("after") ?? "") ?? "";
        const options = { limit: entriesOfPage, details: true, ...after === "" ? {} : { after } };
        const listing = await opened.workspace.list(opened.path, options);
        if (!listing.ok) return refusal(sentence(listing.error));
        const { entries, hasMore } = listing.value;
        const rows = entries.map(({ name, kind, sizeBytes, modifiedAt }) => {
          const shown = showName(name);
          const inside = { path: path === "" ? shown : `${path}/${shown}` };
          return [
            link(kind === "directory" ? `${shown}/` : shown, inside),
            sizeBytes === undefined ? null : sizeWords(sizeBytes),
            modifiedAt === undefined ? null : ago(modifiedAt, visit.now),
          ];
        });
        const columns = ["Name", "#Size", "Modified"];
        const more = hasMore ? [link("More", { after: showName(entries.at(-1)?.name ?? "") }), " · "] : null;
        return html`
          <div class="titled entries">${dataTable(here, columns, rows, "There are no files here.")}</div>
          <p>${more}${link("History", { view: "history" })}</p>
        `;
      },
      async found(words: string): Promise<Html> {
        const where = { path: path || "." };
        const cursor = query.get("cursor") ?? undefined;
        const byName = { ...where, pattern: `*${words}*`, show: "files", limit: filesFound };
        const byLine = { ...where, query: words, ignore_case: true, cursor };
        const names = cursor === undefined ? await files.call(visitor, "file_search", byName) : null;
        const lines = await files.call(visitor, "file_search", byLine);
        if (!lines.ok) return refusal(saidBy(lines));
        const { matches, next_cursor: next } = answerIn(lines);
        const rows = [...names === null ? [] : answerIn(names).matches, ...matches].map(({ filename, line, text }) => {
          const shown = showName(filename);
          const place = line === 0 ? {} : { line: String(line) };
          return [link(shown, { path: shown, ...place }), line || null, html`<code>${showReadably(text)}</code>`];
        });
        const columns = ["File", "#Line", "Text"];
        const whenEmpty = next === undefined ? "No matches." : "No matches so far.";
        return html`
          <div class="titled entries">${dataTable(`Found in ${here}`, columns, rows, whenEmpty)}</div>
          ${next !== undefined && html`<p>${link("More", { find: words, cursor: next })}</p>`}
        `;
      },
      /** Kept changes: everyone's for administrators. */
      async history({ path: { text: own }, workspace, isDirectory }: OpenedPath): Promise<Html> {
        const kept = [];
        let judged = 0;
        for await (const each of changesOf(workspace, own)) {
          if (!maySee(visitor, each.by?.subject)) continue;
          if (await files.ruledOut(visitor, "file_read", each.path) === null) kept.push(each);
          if (kept.length === rowsOfHistory || ++judged === maxJudged) break;
        }
        const undoPart = undoParts(visit, files.ruledOut);
        const names = await namesOf([...new Set(kept.flatMap(({ by }) => by?.clientId ?? []))]);
        const rows = kept.map(async ({ id, at, by, trash, change, path: shownPath, did, version }) => {
          const whose = { id, person: by?.subject ?? "" };
          const undo = actButton(visit, name, "undo", "Undo", { values: { ...whose, path }, kind: "plain" });
          return [
            ...[ago(at, visit.now), whose.person, names.get(by?.clientId ?? "") ?? null, did],
            link(showName(shownPath), { path: showName(shownPath), view: "history" }),
            html`
              <div class="row"><a href="${visit.href("change", whose)}">Difference</a>
                ${version && link("Version before", { version })}
                ${await undoPart({ ...workspace, trash }, change, undo)}</div>
            `,
          ];
        });
        const columns = ["Time", personColumn(visit), "Client", "What", isDirectory ? "File" : null, "Change"];
        const table = dataTable(`History of ${here}`, columns, await Promise.all(rows), "No change is kept.");
        const calls = html`<p><a href="${visit.href("activity", { target: own })}">All calls</a></p>`;
        return html`${table}${!isDirectory && calls}`;
      },
      async version(version: string): Promise<Html> {
        const compared = await files.compare(visitor, path, version);
        if (!compared.ok) return refusal(compared.error);
        const { value: difference } = compared;
        if (difference === "") return refusal("The file is as it was in this version.");
        const shown = difference === null
          ? refusal("There is no difference to show: this is no text, or too long.")
          : html`<p>Restoring this version changes:</p>${differenceBlock(difference, "What restoring changes")}`;
        return html`${shown}${
          actButton(visit, name, "restore", "Restore this version", { values: { path, version } })
        }`;
      },
    };
  };

  return {
    name,
    title: "Files",
    async show(visit) {
      const { query, visitor } = visit;
      const pages = pagesOf(visit);
      const words = query.get("find")?.slice(0, maxWordsCharacters).trim() ?? "";
      const version = query.get("version");
      const opened = await files.open(visitor, pathIn(query), words === "" ? undefined : "file_search");
      const page = !opened.ok
        ? refusal(opened.error)
        : words !== ""
        ? await pages.found(words)
        : version !== null
        ? await pages.version(version)
        : query.get("view") === "history"
        ? await pages.history(opened.value)
        : await (opened.value.isDirectory ? pages.directory : pages.file)(opened.value);
      return pages.frame(page, words);
    },
    async download(visit, isStill) {
      const path = pathIn(visit.query);
      const sent = await files.download(visit.visitor, path, isStill);
      return sent.ok ? sent.value : seeOther(visit.href(name, { path })); // which says why
    },
    acts: {
      undo: { run: changes.undo, view: historyOf },
      restore: { run: ({ by, form }) => files.restore(by, pathIn(form), form.get("version") ?? ""), view: historyOf },
    },
  };
}

function historyOf({ form }: ActVisit) {
  return { path: pathIn(form), view: "history" };
}

/** The path as names are shown, however it was written. */
function pathIn(query: URLSearchParams): string {
  const written = (query.get("path") ?? "").slice(0, maxPathCharacters);
  return showName(readName(written) ?? written).replace(/\/+$/, "");
}

function sizeWords(bytes: number): string {
  return toSize(bytes).replace(/[KMGT]?$/, " $&B");
}

function refusal(words: string): Html {
  return html`<p class="note plain">${words}</p>`;
}

function saidBy({ message }: { readonly message: string }): string {
  return message.replace(/^Failed to [^:]+: /, "");
}

/** A page of a text with the numbers of its lines, or a picture; or why there is neither. */
function contentOf(outcome: ToolOutcome, path: string): Html {
  if (!outcome.ok && outcome.code !== "not_text") return refusal(saidBy(outcome));
  const media = outcome.ok ? outcome.content.find(({ type }) => type === "image") : undefined;
  if (media?.type === "image") {
    return html`<img class="picture" src="data:${media.mimeType};base64,${media.data}" alt="${path}">`;
  }
  const { content, start_line: first } = answerIn(outcome);
  if (content === undefined) return refusal("There is no preview of this kind of file.");
  const lines = showReadably(content).replace(/\n$/, "").split("\n").map((each) => html`<li>${each}</li>`);
  return html`<ol class="text" start="${first}">${lines}</ol>`;
}

/** The kept changes of a file by the names that it had, or of all that is below a directory; the newest first. */
async function* changesOf({ trash }: Workspace, path: string) {
  let own = path;
  let lookedAt = 0;
  for await (const change of trash?.changes() ?? []) {
    const { id, at, by, steps } = change;
    if (trash === null || ++lookedAt > maxLookedAt) return;
    await nextTurn();
    const about = steps.map(({ step }) => step).filter((step) => isWithin(step.path, own) || isWithin(own, step.path));
    const [first] = about;
    if (first === undefined) continue;
    const before = steps.find(({ step }) => step.path === own && "kept" in step && step.kept?.kind === "file");
    const holds = before !== undefined && await trash.holds({ change: id, number: before.number });
    yield {
      ...{ id, at, by, trash, change },
      path: isWithin(first.path, own) ? first.path : own,
      did: about.length === 1 ? didOf(first) : `${didOf(first)}, and ${about.length - 1} more`,
      /** Names the content before, where that is kept. */
      version: holds ? `${id}.${before.number}` : null,
    };
    for (const step of about.toReversed()) {
      if (step.op === "move" && own !== "" && isWithin(own, step.path)) own = step.from + own.slice(step.path.length);
    }
  }
}

function isWithin(path: string, directory: string): boolean {
  return directory === "" || path === directory || path.startsWith(`${directory}/`);
}

function didOf(step: Change["steps"][number]["step"]): string {
  if (step.op === "move") return `moved from ${showName(step.from)}`;
  if (step.op !== "put") return step.op === "remove" ? "deleted" : "new directory";
  return step.created ? "created" : step.passages === undefined ? "replaced" : "edited";
}

// The visitor's own workspace: through its port and the tools, by the rules that hold for calls.

/** A path that may be looked at. */
type OpenedPath = Extract<Awaited<ReturnType<OwnFiles["open"]>>, { readonly ok: true }>["value"];
type OwnFiles = ReturnType<typeof createOwnFiles>;

/** What refuses does so in words for the page, and before anything is said of what is there. */
export function createOwnFiles(
  { workspace: source, documents, tools, judge, log }: ConsoleSources,
  timeLimitMs = patienceMs,
) {
  /**
   * Why groups or a rule keep the visitor from using the tool there; `null`: nothing does. A rule that asks lets on those who could
   * approve the call. One about what is below a listed directory counts where that is opened: a page shows its name.
   */
  const ruledOut = async (visitor: Visitor, tool: string, path: string): Promise<string | null> => {
    const missing = missingScope(visitor, tool === "file_write" ? "files:write" : "files:read");
    if (missing !== null) return missing;
    const isBelow = (place: string) => path === "" ? place !== "" : place.startsWith(`${path}/`);
    const counts = ({ place = "" }) => tool !== "file_list" || !isBelow(place);
    const rule = await judge(personOf(visitor.userId), tool, path, counts);
    if (rule === null || rule.verdict === "allow") return null;
    if (rule.verdict === "ask" && (visitor.isAdministrator || rule.approver !== "administrator")) return null;
    return `A rule stands against this. ${visitor.isAdministrator ? ruleWords(rule) : ""}`;
  };
  const open = async (visitor: Visitor, written: string, tool?: string) => {
    const parsed = parseDirectoryPath(written);
    if (!parsed.ok) return failure("There is no such file or directory.");
    const workspace = source(personOf(visitor.userId));
    const path = await inStoredForm(workspace, parsed.value);
    const info = await workspace.stat(path);
    const isDirectory = info.ok && info.value.kind === "directory";
    const words = await ruledOut(visitor, tool ?? (isDirectory ? "file_list" : "file_read"), path.text);
    return words === null ? success({ workspace, path, info, isDirectory }) : failure(words);
  };
  const note = (event: string, { userId: user }: Visitor, what: string, more: Readonly<Record<string, string>> = {}) =>
    log.write("audit", event, { user, outcome: "ok", what, ...more });
  /** What a step of a change has kept, for those who may see the change and read what it was about. */
  const version = async (visitor: Visitor, written: string, name: string, tool?: string) => {
    const opened = await open(visitor, written, tool);
    if (!opened.ok) return opened;
    const { trash } = opened.value.workspace;
    const [change = "", number] = name.split(".");
    const { by = null, steps = [] } = await trash?.find(change) ?? {};
    const kept = steps.find((each) => `${each.number}` === number);
    if (trash === null || kept === undefined || !maySee(visitor, by?.subject)) return failure(notKept);
    const words = await ruledOut(visitor, "file_read", kept.step.path);
    const item = { change, number: kept.number };
    const sizeBytes = "kept" in kept.step ? kept.step.kept?.sizeBytes ?? 0 : 0;
    const then = withKept(opened.value.workspace, trash, item, sizeBytes);
    const readAt = (offsetBytes: number) => trash.read(item, { offsetBytes, lengthBytes: pieceBytes });
    return words === null ? success({ ...opened.value, then, readAt }) : failure(words);
  };
  return {
    ruledOut,
    open,
    note,
    /** The outcome of a tool without the gate: what it is asked for was opened. */
    async call(visitor: Visitor, name: string, input: Record<string, unknown>): Promise<ToolOutcome> {
      const tool = tools.find((each) => each.name === name);
      if (tool === undefined) throw new TypeError(`The console needs the tool ${name}`);
      const signal = AbortSignal.timeout(timeLimitMs);
      const ask = () => Promise.reject(new TypeError(`${name} asks on a page`));
      const context = { ...quietly, ask, signal, answerNow: signal, principal: personOf(visitor.userId) };
      try {
        return await tool.run(tool.input.parse(input) as never, context);
      } catch (error) {
        if (!signal.aborted) throw error;
        return { ok: false, code: "too_slow", message: "This took too long. Try again, or look at less." };
      }
    },
    /** What restoring the version would change, as a difference; `null` where that cannot be shown. */
    async compare(visitor: Visitor, written: string, name: string) {
      const kept = await version(visitor, written, name);
      if (!kept.ok) return kept;
      const { workspace, path, info, then, readAt } = kept.value;
      if (!(await readAt(0)).ok) return failure(notKept);
      const textIn = async (side: Workspace): Promise<string | null> => {
        const bytes = await bytesIn(side, path, { documents, caller: visitor.userId });
        return bytes === null ? null : await textOf(bytes);
      };
      const [before, after] = [info.ok ? await textIn(workspace) : "", await textIn(then)];
      return success(before === null || after === null ? null : showExactly(await differenceOf(before, after)));
    },
    /** Puts the version in the place of what is there, as a change that can be undone; what was done. */
    async restore(by: Visitor & { readonly address: string }, written: string, name: string) {
      const kept = await version(by, written, name, "file_write");
      if (!kept.ok) return kept;
      const { workspace, path, readAt } = kept.value;
      if (!(await readAt(0)).ok) return failure(notKept);
      const put = await workspace.begin(authorOf(by.userId)).receive(path, piecesOf(readAt));
      if (!put.ok) return failure(sentence(put.error));
      note("version_restored", by, showName(path.text), { address: by.address });
      return success(`Restored ${showName(path.text)}.`);
    },
    /** The file as an attachment; `isStill` is asked before each piece. */
    async download(visitor: Visitor, written: string, isStill: () => Promise<boolean>) {
      const opened = await open(visitor, written, "file_read");
      if (!opened.ok) return opened;
      const { workspace, path } = opened.value;
      const first = await workspace.read(path, { offsetBytes: 0, lengthBytes: 0 });
      if (!first.ok) return failure(sentence(first.error));
      const { attachmentHeaders } = await loadDownload();
      note("file_downloaded", visitor, showName(path.text));
      const pieces = piecesOf(async (offsetBytes) => {
        const part = await isStill() ? await workspace.read(path, { offsetBytes, lengthBytes: pieceBytes }) : null;
        return part?.ok && part.value.version === first.value.version ? success(part.value.bytes) : failure(part);
      });
      const headers = { ...attachmentHeaders(path.text), "content-length": String(first.value.sizeBytes) };
      return success(new Response(ReadableStream.from(pieces), { headers }));
    },
  };
}

/** Throws where a piece cannot be read: what takes the pieces then keeps none of them for the whole. */
async function* piecesOf(readAt: (offsetBytes: number) => Promise<Result<Uint8Array, unknown>>) {
  for (let offset = 0, length = pieceBytes; length === pieceBytes; offset += length) {
    const piece = await readAt(offset);
    if (!piece.ok) throw new Error("a file or a version was changed while it was read, or its reader signed out");
    length = piece.value.byteLength;
    yield piece.value;
  }
}

/** Others' changes are for administrators, as in the audit. */
function maySee({ isAdministrator, userId }: Visitor, person: string | null | undefined): boolean {
  return isAdministrator || person === userId;
}

function sentence(refusal: WorkspaceRefusal): string {
  const words = refusalWords(refusal);
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`;
}

// Changes of files: the page of one, and undoing it.

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
    const workspace = source(personOf(person));
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
      const undone = await undoChange({ ...workspace, trash: workspace.trash }, change);
      if (!undone.ok) return failure(undoWords(change, undone.error));
      await trash.noteUndone(change.id, made ?? "");
      const what = undone.value.map(showName).join(", ");
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
      const steps = joinOwn(change.steps);
      const blocks: string[] = [];
      for (const numbered of steps.slice(0, maxShownSteps)) {
        const { op, path } = numbered.step;
        const hidden = op === "put" ? await ruledOut(visitor, "file_read", path) : null;
        const text = hidden === null && await stepText(found, numbered);
        blocks.push(text || `changed ${showName(path)}: ${hidden}`);
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
    const infos = await Promise.all(looked.map(({ step }) => workspace.stat(pathOf(step.path))));
    const cost = infos.reduce((sum, info) => sum + (info.ok ? info.value.sizeBytes : 0), steps.length * bytesOfStep);
    if (cost > left) return html`<a href="${visit.href("change", { id, person: by?.subject ?? "" })}">Undo…</a>`;
    left -= cost;
    const forbidden = await whyNotUndone(visit.visitor, change, ruledOut);
    const planned = forbidden === null ? await planUndo(workspace, change) : null;
    const why = planned?.ok === false ? undoWords(change, planned.error) : forbidden;
    return why === null ? button : html`<span class="quiet">${why}</span>`;
  };
}

function undoWords(change: Change, error: Parameters<typeof toUndoFailure>[1]): string {
  const outcome = toUndoFailure(change, error, null);
  const why = outcome.ok ? "" : outcome.message.replaceAll(/^Failed to undo \w+: |; nothing was changed$/g, "");
  return `This change cannot be undone: ${why}.`;
}

/** Whose change is meant: everyone but administrators sees and undoes their own. */
function whoseOf({ isAdministrator, userId }: Visitor, named: URLSearchParams): string {
  return isAdministrator ? named.get("person") ?? userId : userId;
}

/** Whether groups keep the visitor from what they keep their applications from; in words, or `null`. */
function missingScope({ mayGrant }: Visitor, scope: string): string | null {
  return mayGrant?.has(scope) === false ? `Your groups do not give you ${scope}.` : null;
}

/** Who the trash says made a change from the console. */
export function authorOf(subject: string) {
  return { subject, clientId: consoleClientId, grantId: consoleClientId, tool: "console" };
}
type Found = NonNullable<Awaited<ReturnType<Changes["find"]>>>;

/** Whose workspace is meant; nothing is called in this name. */
function personOf(subject: string): Principal {
  return { ...authorOf(subject), tokenId: consoleClientId, keyId: null, scopes: new Set(), expiresAt: 0 };
}

async function stepText(found: Found, numbered: NumberedStep): Promise<string> {
  const { step } = numbered;
  const name = showName(step.path);
  if (step.op === "make") return `made the directory ${name}`;
  if (step.op === "remove") return `deleted ${name}${step.kept === null ? "" : ` (${keptWords(step.kept)})`}`;
  if (step.op === "move") return `moved ${showName(step.from)} to ${name}`;
  const verb = step.created ? "created" : step.passages === undefined ? "replaced" : "changed";
  if (step.kind !== "file") return `put ${name}`;
  const sides = await sidesOf(found, { ...numbered, step });
  if (sides !== null) {
    return `${verb} ${name}:\n${showExactly(await differenceOf(sides.before, sides.after))}`;
  }
  const { passages = [] } = step;
  if (passages.length === 0) return `${verb} ${name} (what it wrote is no longer there, or is no text)`;
  // The file was changed since: where the places were is no longer known.
  const places = await Promise.all(passages.map(async ({ before, after }, index) => {
    const lines = await differenceOf(before, after);
    return lines.replaceAll(/^@@ .* @@$/gm, `@@ place ${index + 1} of ${passages.length} @@`);
  }));
  return `${verb} ${name}:\n${showExactly(places.join("\n"))}`;
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
  const path = pathOf(step.path);
  const isLeft = await trash.isAsLeft(path, step.left);
  const bytes = isLeft.ok && isLeft.value ? await bytesIn(workspace, path, access) : null;
  const after = bytes === null ? null : await textOf(bytes);
  const { passages = [], created, kept, sizeBefore } = step;
  const item = { change: id, number };
  const old = sizeBefore !== undefined
    ? bytes?.subarray(0, sizeBefore)
    : kept && await bytesIn(withKept(workspace, trash, item, kept.sizeBytes), path, access);
  const before = created ? "" : old ? await textOf(old) : null;
  if (after !== null) {
    const reverted = before ?? (passages.length === 0 ? null : revertPassages(after, passages));
    return reverted === null ? null : { before: reverted, after };
  }
  if (before === null || passages.length === 0) return null;
  const turned = passages.map((each) => ({ before: each.after, after: each.before }));
  const edited = revertPassages(before, turned);
  return edited === null ? null : { before, after: edited };
}

/** A file's bytes, of a document those of its text. */
async function bytesIn(...file: Parameters<typeof readToCompare>): Promise<Uint8Array | null> {
  const read = await readToCompare(...file);
  return read.ok ? read.value.bytes : null;
}

async function textOf(bytes: Uint8Array): Promise<string | null> {
  return bytes.byteLength > maxTextBytes ? null : (await decodeText(bytes))?.text ?? null;
}
