/** Files: browse, read, search and download the visitor's own workspace, with each file's history. */
import * as z from "zod";
import { type Change, readName, showName, showText, toSize, type Workspace } from "../../files/mod.ts";
import { type Html, html, seeOther } from "../../lib/page.ts";
import { nextTurn } from "../../lib/turns.ts";
import type { ToolOutcome } from "../../mcp/mod.ts";
import type { Changes } from "./changes.ts";
import { actButton } from "./frame.ts";
import { type createOwnFiles, maySee, type OpenedPath, sentence } from "./own_files.ts";
import {
  ago,
  dataTable,
  differenceBlock,
  doneOr,
  personColumn,
  type Section,
  textField,
  type Visit,
} from "./section.ts";

const name = "files";
const viewed = "file_viewed";
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

/** What the pages read of the answers of `file_read` and `file_search`. */
const answer = z.lazy(() =>
  z.object({
    content: z.string().optional(),
    document: z.string().optional(),
    start_line: z.int().default(1),
    next_cursor: z.string().optional(),
    matches: z.array(z.object({ filename: z.string(), line: z.int().default(0), text: z.string().default("") }))
      .default([]),
  })
);

function answerIn(outcome: ToolOutcome): z.output<typeof answer> {
  return answer.parse(outcome.ok ? outcome.structuredContent : {});
}

/** The section; `namesOf` gives what clients are called, by id. */
export function filesSection(
  files: ReturnType<typeof createOwnFiles>,
  changes: Changes,
  namesOf: (clientIds: readonly string[]) => Promise<ReadonlyMap<string, string>>,
): Section {
  /** The pages about the path that the address names. */
  const pagesOf = (visit: Visit) => {
    const { visitor, query } = visit;
    const path = pathOf(query);
    const here = path || "Workspace";
    const link = (words: string, more: Readonly<Record<string, string>> = {}, kind = ""): Html =>
      html`<a href="${visit.href(name, { path, ...more })}" class="${kind}">${words}</a>`;
    const form = (field: Html, words: string): Html =>
      html`
        <form method="get" action="${visit.href(name)}" class="row"><input type="hidden" name="path" value="${path}">
          ${field}<button type="submit" class="small">${words}</button></form>
      `;
    const changeCell = ({ change, person, version, isUndone }: PastChange): Html => {
      const whose = { id: change, person: person ?? "" };
      const undo = () => actButton(visit, name, "undo", "Undo", { values: { ...whose, path }, kind: "plain" });
      return html`
        <div class="row"><a href="${visit.href("change", whose)}">Difference</a>
          ${version && link("Version before", { version })}
          ${isUndone ? html`<span class="badge">undone</span>` : undo()}</div>
      `;
    };
    return {
      frame(page: Html, words: string): Html {
        const names = path.split("/").filter((each) => each !== "");
        const above = names.map((each, index) => [" / ", link(each, { path: names.slice(0, index + 1).join("/") })]);
        const search = html`<div><input type="text" name="find" value="${words}" maxlength="${maxWordsCharacters}"
          aria-label="Search files" placeholder="Search files" autocomplete="off"></div>`;
        return html`<div class="path"><p>${link("Workspace", { path: "" })}${above}</p>${
          form(search, "Search")
        }</div>${page}`;
      },
      async file({ info }: OpenedPath): Promise<Html> {
        if (!info.ok) return html`${refusal(sentence(info.error))}<p>${link("History", { view: "history" })}</p>`;
        const [cursor, line] = [query.get("cursor"), Math.min(Math.trunc(Number(query.get("line"))), maxLine)];
        const from = cursor !== null ? { cursor } : line > 0 ? { start_line: line } : {};
        const outcome = await files.call(visitor, "file_read", { filename: path, numbered: false, ...from });
        files.note(viewed, visitor, path);
        const { sizeBytes, modifiedAt } = info.value;
        const { next_cursor: next, document } = answerIn(outcome);
        const more = () =>
          html`
            <p>${link("Next lines", { cursor: next ?? "" })}</p>
            ${form(textField("line", "Line", "", 12), "Go to line")}
          `;
        return html`
          <p class="quiet">${sizeWords(sizeBytes)}, changed ${ago(modifiedAt, visit.now)}${document &&
            `. ${showText(document)}`}</p>
          <p>${link("Download", { download: "1" }, "button")}${link("History", { view: "history" }, "button")}</p>
          ${contentOf(outcome, path)}${next !== undefined && more()}
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
        const columns = ["Name", { number: "Size" }, "Modified"];
        const whenEmpty = "There are no files here.";
        const more = hasMore ? [link("More", { after: showName(entries.at(-1)?.name ?? "") }), " · "] : null;
        return html`
          <div class="titled entries">${dataTable({ caption: here, columns, rows, whenEmpty })}</div>
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
          return [link(shown, { path: shown, ...place }), line || null, html`<code>${showText(text)}</code>`];
        });
        const columns = ["File", { number: "Line" }, "Text"];
        const whenEmpty = next === undefined ? "No matches." : "No matches so far.";
        return html`
          <div class="titled entries">${dataTable({ caption: `Found in ${here}`, columns, rows, whenEmpty })}</div>
          ${next !== undefined && html`<p>${link("More", { find: words, cursor: next })}</p>`}
        `;
      },
      /** Kept changes: everyone's for administrators. */
      async history({ path: { text: own }, workspace, isDirectory }: OpenedPath): Promise<Html> {
        const kept: PastChange[] = [];
        let judged = 0;
        for await (const each of changesOf(workspace, own)) {
          if (!maySee(visitor, each.person)) continue;
          if (await files.ruledOut(visitor, "file_read", each.path) === null) kept.push(each);
          if (kept.length === rowsOfHistory || ++judged === maxJudged) break;
        }
        const names = await namesOf([...new Set(kept.flatMap(({ client }) => client ?? []))]);
        const rows = kept.map((each) => [
          ago(each.time, visit.now),
          each.person,
          names.get(each.client ?? "") ?? null,
          each.did,
          link(showName(each.path), { path: showName(each.path), view: "history" }),
          changeCell(each),
        ]);
        const columns = ["Time", personColumn(visit), "Client", "What", isDirectory ? "File" : null, "Change"];
        const table = dataTable({ caption: `History of ${here}`, columns, rows, whenEmpty: "No change is kept." });
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
      const opened = await files.open(visitor, pathOf(query), words === "" ? undefined : "file_search");
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
      const path = pathOf(visit.query);
      const sent = await files.download(visit.visitor, path, isStill);
      return sent.ok ? sent.value : seeOther(visit.href(name, { path })); // which says why
    },
    acts: {
      undo: {
        done: "The change was undone.",
        run: async (visit) => doneOr(await changes.undo(visit), historyOf(visit.form)),
      },
      restore: {
        done: "The version was restored.",
        async run({ visitor, address, form }) {
          const version = form.get("version") ?? "";
          return doneOr(await files.restore({ ...visitor, address }, pathOf(form), version), historyOf(form));
        },
      },
    },
  };
}

function historyOf(form: URLSearchParams) {
  return { path: pathOf(form), view: "history" };
}

/** The path as names are shown, however it was written. */
function pathOf(query: URLSearchParams): string {
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
  const lines = showText(content).replace(/\n$/, "").split("\n").map((each) => html`<li>${each}</li>`);
  return html`<ol class="text" start="${first}">${lines}</ol>`;
}

interface PastChange {
  readonly time: number;
  readonly change: string;
  readonly person: string | null;
  readonly client: string | null;
  readonly path: string;
  readonly did: string;
  /** Names the content before, where that is kept. */
  readonly version: string | null;
  readonly isUndone: boolean;
}

/** The kept changes of a file by the names that it had, or of all that is below a directory; the newest first. */
async function* changesOf({ trash }: Workspace, path: string): AsyncGenerator<PastChange> {
  let own = path;
  let lookedAt = 0;
  for await (const { id, at: time, by, steps, undoneBy } of trash?.changes() ?? []) {
    if (trash === null || ++lookedAt > maxLookedAt) return;
    await nextTurn();
    const about = steps.map(({ step }) => step).filter((step) => isWithin(step.path, own) || isWithin(own, step.path));
    const [first] = about;
    if (first === undefined) continue;
    const before = steps.find(({ step }) => step.path === own && "kept" in step && step.kept?.kind === "file");
    const holds = before !== undefined && await trash.holds({ change: id, number: before.number });
    yield {
      ...{ time, change: id, person: by?.subject ?? null, client: by?.clientId ?? null },
      path: isWithin(first.path, own) ? first.path : own,
      did: about.length === 1 ? didOf(first) : `${didOf(first)}, and ${about.length - 1} more`,
      version: holds ? `${id}.${before.number}` : null,
      isUndone: undoneBy !== null,
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
