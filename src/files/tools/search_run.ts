/** The work of the tool `file_search`: goes through the files, searches them, and remembers where it stopped. */
import { failure, type Result, success } from "../../lib/result.ts";
import type { Clock } from "../../lib/time.ts";
import type { ToolContext, ToolOutcome } from "../../mcp/mod.ts";
import { createIgnored, maxWalkDepth, walk, type WalkedEntry } from "../workspace/walk.ts";
import { childPath, parseDirectoryPath, rootPath, showName, showText, showWritten } from "../workspace/path.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import { type Outcome, type Workspace, type WorkspaceSource } from "../workspace/port.ts";
import { type NextTurn, nextTurn as turnOfThread } from "../../lib/turns.ts";
import { escapeExpression } from "../text/finder.ts";
import { createLinePattern, filterLines, type LinePattern, type LineQuery } from "../text/line_pattern.ts";
import { createSearchBuffer, type LineMatch, searchFile } from "../text/search_file.ts";
import { type DocumentFacts, mayBeDocument, openDocuments } from "../documents/view.ts";
import type { Documents } from "../documents/reading.ts";
import { shareKey } from "../../lib/principal.ts";
import { count, cursorWords, type SearchCursor, type SearchRequest, tagOf, toSearchCursor } from "./input.ts";
import { createNamePatterns, hiddenNames, maxNoticedNames, type Notice, withNotices } from "./list_walk.ts";
import { findPath, suggestNear } from "./near_names.ts";
import { parseNamedParts } from "./read_text.ts";
import { refuse, toFailure } from "./refusal.ts";
import { createCollector, toAnswer } from "./search_answer.ts";

const action = "search";
const filesPerProgress = 64;
/** A file in which nothing can match takes some microseconds; the search of others asks for its turn itself. */
const visitsPerTurn = 16;

/** Lines of one file, from 1. */
interface Lines {
  readonly first: number;
  readonly last: number;
}

const allLines: Lines = { first: 1, last: Infinity };

export interface SearchOptions {
  /** After this time a search gives what it has found, and a cursor. */
  readonly maxSearchMilliseconds: number;
  /** A search that takes longer goes on as a task, where the caller takes tasks. */
  readonly handOutAfterMilliseconds: number;
  readonly clock: Clock;
  readonly documents: Documents;
}

/**
 * A document takes some 50 ms a page when it is read first, a file some microseconds: of a tree, so many documents that
 * are not known yet are read in one call, unless the pattern names them.
 */
const maxNewDocuments = 20;

/** What a cursor goes with. */
const queryParts = [
  ...["query", "regex", "pattern", "exclude", "all", "without", "ignore_case", "whole_word"] as const,
  ...["last", "include_ignored", "show"] as const,
];

/** One call of `file_search`. */
export async function searchFiles(
  source: WorkspaceSource,
  request: SearchRequest,
  context: ToolContext,
  options: SearchOptions,
): Promise<ToolOutcome> {
  const prepared = await prepare(source, request, context, options);
  if (!prepared.ok) return prepared.error;
  const { run, patterns, createIgnoring } = prepared.value;
  const { outcome, state, isWhole } = await search(run);
  if (!outcome.ok || !isWhole) return outcome;
  if (state.found > 0) return withNotices(outcome, [...patterns.excludeNotices(), ...plainNotices(run.request, true)]);
  const notices = [...patterns.notices(), ...plainNotices(run.request, false)];
  const missed = state.unsure.count > 0 ? null : await whatIsMissing(run, createIgnoring, options.clock);
  return withNotices(outcome, missed === null ? notices : [...notices, remedy(missed)]);
}

/** Of a query that was found nowhere: where it almost is, or which part of it is not there; `null` where nothing is known. */
async function whatIsMissing(run: SearchRun, createIgnoring: () => Promise<SearchRun["ignored"]>, clock: Clock) {
  const { request, pattern } = run;
  const { query, all = [], without = [], regex, ignore_case: ignoreCase, whole_word: wholeWord } = request;
  const isFiltered = all.length + without.length > 0;
  if (run.lines.first > 1) {
    const each = await createLinePattern({ text: "^", isRegularExpression: true, ignoreCase });
    const counted = { ...run, request: { ...request, show: "count" as const }, lines: allLines };
    const { state, isCut } = await search({ ...counted, pattern: each.ok ? each.value : null });
    const isWhole = state.searched === 1 && state.passedOver.size === 0 && !isCut;
    if (isWhole && state.lines < run.lines.first) return `${showName(run.path.text)} has ${count(state.lines, "line")}`;
  }
  /** Where the first line is that matches; `null` for none, `undefined` where that cannot be said. */
  const placeOf = async (wanted: LineQuery, needed: readonly string[] = [], isOver = run.isOver) => {
    const created = await createLinePattern(wanted);
    if (!created.ok) return undefined;
    const asked = { ...request, limit: 1, show: "lines", context: 0, last: false } as const;
    const lines = filterLines(created.value, { all: needed, without: [], ignoreCase, wholeWord });
    const ignored = await createIgnoring();
    const { state, isCut } = await search({ ...run, request: asked, pattern: lines, ignored, isOver });
    const [file] = state.files;
    const line = file?.matches[0]?.line;
    if (file !== undefined && line !== undefined) return `${showName(file.filename)}:${line}`;
    return isCut || state.unsure.count > 0 ? undefined : null;
  };
  const relaxed = isFiltered ? null : relaxedQuery(request, pattern?.hasOtherCase !== false);
  const almost = relaxed === null ? null : await placeOf(relaxed);
  if (almost) return `but for case, blanks, quotes, dashes or longer words it is at ${almost}`;
  const deadline = clock() + maxPartsMilliseconds;
  const isOver = (): boolean => run.isOver() || clock() > deadline;
  const plain = (text: string): LineQuery => ({ text, isRegularExpression: false, ignoreCase });
  const [firstNeeded, ...furtherNeeded] = all;
  const main = query === undefined ? firstNeeded : query;
  if (without.length > 0 && main !== undefined) {
    const asked = query === undefined ? plain(main) : { ...plain(main), isRegularExpression: regex, wholeWord };
    const held = await placeOf(asked, query === undefined ? furtherNeeded : all, isOver);
    if (held) return `but for without it is at ${held}`;
  }
  const words = run.hint === null && !regex && !isFiltered ? query?.trim().split(/\s+/) ?? [] : [];
  const parts = isFiltered ? [...regex || query === undefined ? [] : [query], ...all] : words;
  if (parts.length + Number(regex) < 2 || parts.length > maxParts) return null;
  const missing: string[] = [];
  for (const part of parts) {
    const place = await placeOf(plain(part), [], isOver);
    if (place === undefined) return null;
    if (place === null) missing.push(part);
  }
  if (missing.length > 0) return `found nowhere: ${missing.map(showText).join(", ")}`;
  if (isFiltered) return "each of these texts is there, but no line has them all";
  const [longest = ""] = words.toSorted((one, other) => other.length - one.length);
  const apart = await placeOf(plain(longest), words, isOver);
  if (apart === undefined) return null;
  return apart === null
    ? "each of its words is there, but no line has them all"
    : `its words are apart at ${apart}: give them in all, as a list`;
}

/** How long the parts of a query are looked for. */
const maxPartsMilliseconds = 1_000;
/** Texts that a line has to hold, each of which is looked for. */
const maxParts = 10;

/** What a call asks for, or the refusal. */
async function prepare(
  source: WorkspaceSource,
  request: SearchRequest,
  context: ToolContext,
  { maxSearchMilliseconds, handOutAfterMilliseconds, clock, documents }: SearchOptions,
) {
  const workspace = source(context.principal);
  const given = await findPath(workspace, "path", request.path, { parse: parseDirectoryPath });
  if (!given.ok) return given;
  const pattern = await patternOf(request);
  if (!pattern.ok) return failure(refuse(action, pattern.error));
  const { path, lines } = await findLines(workspace, given.value);
  const there = path.text === "" ? null : await workspace.stat(path);
  const isFile = there?.ok === true && there.value.kind === "file";
  const base = isFile ? childPath(rootPath, path.segments.slice(0, -1)) : path;
  const isCaseless = pattern.value === null && request.ignore_case;
  const exclude = request.exclude?.filter((each) => each !== hiddenNames || !isFile); // a named file is not left out
  const name = isFile ? undefined : request.query;
  const patterns = createNamePatterns(base, { ...request, exclude, name, isCaseless });
  if (patterns === null) return failure(refuse(action, "a pattern is empty, too long or has too many alternatives"));
  if (there !== null && !there.ok) {
    return failure(await suggestNear(workspace, path, toFailure(action, path, there.error)));
  }
  const tag = tagOf([given.value.text, ...queryParts.map((part) => request[part])]);
  const cursor = request.cursor === undefined ? undefined : toSearchCursor(tag, request.cursor);
  if (typeof cursor === "string") return failure(refuse(action, cursorWords(cursor)));
  const createIgnoring = async () =>
    patterns.alsoExcluding(isFile || request.include_ignored ? undefined : await createIgnored(workspace, path));
  const started = clock();
  let isHandedOut = false;
  const run = {
    request,
    workspace,
    path,
    isFile,
    matchesName: patterns.matches,
    /** Of the one file: the lines to search. */
    lines,
    access: { documents, caller: shareKey(context.principal), work: context },
    newDocuments: isFile || mayBeDocument(request.pattern ?? "") ? Infinity : maxNewDocuments,
    /** `null`: files are found by their names alone. */
    pattern: pattern.value,
    cursor,
    /** Of the cursor to go on with. */
    tag,
    /** What to try where nothing is found. */
    hint: hintFor(request),
    ignored: await createIgnoring(),
    isOver: () => clock() > started + maxSearchMilliseconds || context.signal.aborted,
    progress: (progress: number) => context.progress({ progress }),
    /** Makes a search that takes long a task, where the caller takes tasks. */
    outlive(): Promise<void> | undefined {
      if (isHandedOut || clock() - started < handOutAfterMilliseconds) return undefined;
      isHandedOut = true;
      return context.handOut();
    },
  };
  return success({ run, patterns, createIgnoring });
}

type SearchRun = Extract<Awaited<ReturnType<typeof prepare>>, { readonly ok: true }>["value"]["run"];

/** What a line must match; `null` to find files by their names, or what is wrong with the request. */
async function patternOf(request: SearchRequest): Promise<Result<LinePattern | null, string>> {
  const { query: text, pattern: name, all = [], without = [], ignore_case: ignoreCase, cursor } = request;
  if ([text, name, all[0], without[0]].every((each) => each === undefined)) {
    const again = cursor === undefined ? "" : "; a cursor goes with the arguments of the call that gave it";
    return failure(`give query, pattern or both${again}`);
  }
  // lines that need not hold a text are all there are
  const isAnyLine = text === undefined && all[0] === undefined;
  const query = text ?? all[0] ?? (without.length === 0 ? undefined : "^");
  if (query === undefined) return success(null);
  const isRegularExpression = text === undefined ? isAnyLine : request.regex;
  const pattern = await createLinePattern({
    text: query,
    isRegularExpression,
    ignoreCase,
    wholeWord: request.whole_word,
  });
  if (pattern.ok) {
    return success(filterLines(pattern.value, { all, without, ignoreCase, wholeWord: request.whole_word }));
  }
  const { error } = pattern;
  return failure(
    error.reason === "invalid_expression"
      ? `query is no regular expression in RE2 syntax, which has no look-around and no backreferences: ${
        showText(error.detail)
      }; ${
        /\(\?<?[=!]/.test(query)
          ? "search without it: all and without take texts that the line must hold, or must not"
          : "leave out regex to search for it as plain text"
      }`
      : queryWords[error.reason],
  );
}

const queryWords = {
  empty: "query is empty",
  too_long: "query is too long: 1000 characters of plain text, 250 with regex or ignore_case",
  several_lines: "query holds a line end; search for one of its lines, with context for those around it",
  too_complex: "query is too complex; use fewer or smaller repetitions",
};

/** The path, or the file and the lines in it that the end of the path names: `src/a.ts:10-50`. */
async function findLines(
  workspace: Workspace,
  path: WorkspacePath,
): Promise<{ readonly path: WorkspacePath; readonly lines: Lines }> {
  const named = parseNamedParts(path.text).find(({ lines }) => lines.startLine !== undefined && !lines.characters);
  const file = named === undefined ? null : parseDirectoryPath(named.filename);
  if (named === undefined || !file?.ok || (await workspace.stat(path)).ok) return { path, lines: allLines };
  return { path: file.value, lines: { first: named.lines.startLine ?? 1, last: named.lines.endLine ?? Infinity } };
}

/** Searches until everything was searched, or the limit or the time is reached; `isWhole`: from beginning to end. */
async function search(run: SearchRun) {
  const { request, workspace, pattern, cursor, path, lines } = run;
  const { show } = request;
  const collector = createCollector(request, pattern);
  const { state } = collector;
  let hasPaused = false;
  const nextTurn: NextTurn = () => turnOfThread()?.then(() => void (hasPaused = true));
  const buffer = createSearchBuffer(workspace);
  const { view, factsOf, countOpened } = openDocuments(workspace, run.access);
  let visited = 0;
  let finished = cursor?.finished;
  let next: SearchCursor | null = null;
  let isPast = false; // a match beyond the last line
  const notices: Notice[] = [];
  for await (const step of candidates(run, nextTurn)) {
    if (!step.ok) return { outcome: toFailure(action, path, step.error), state, isWhole: false };
    const entry = step.value;
    const file = entry.kind === "file" && !entry.isSkipped && run.matchesName(entry.segments) ? entry.path : null;
    // a caller can only go away while others have their turn
    const isTime = hasPaused || visited % visitsPerTurn === visitsPerTurn - 1;
    const isOver = isTime && visited > 0 && run.isOver(); // else there would be no place to go on from
    hasPaused = false;
    if (collector.isFull() || visited === workspace.limits.maxTreeEntries || isOver) {
      next = { finished };
      break;
    }
    visited++;
    if (file !== null && pattern === null) collector.addName(file.text);
    else if (file !== null && pattern !== null) {
      const pause = isTime ? run.outlive() ?? nextTurn() : undefined;
      if (pause !== undefined) await pause;
      if (state.searched % filesPerProgress === 0) run.progress(state.searched);
      collector.begin(file.text);
      const partial = cursor?.partial?.segments.join("/") === entry.segments.join("/") ? cursor?.partial : undefined;
      const isChanged = partial !== undefined && partial.version !== await versionOf(workspace, file);
      if (isChanged) {
        const words = `${
          showName(file.text)
        } has changed since the page before: it is searched again from its beginning`;
        notices.push({ words, isRemedy: false });
      }
      const isDocument = mayBeDocument(file.text);
      if (isDocument && countOpened() >= run.newDocuments) {
        collector.end(failure("document"));
        finished = { segments: entry.segments, isDirectory: false };
        continue;
      }
      const inPart = isDocument ? createPartNames(() => factsOf(file)) : null;
      const begun = searchFile(isDocument ? view : workspace, file, buffer, {
        pattern,
        counts: ({ files: "none", lines: "some", count: "all", texts: "all" } as const)[show],
        onText: show === "texts" ? (text, line) => void (line > lines.last || collector.addText(text)) : undefined,
        contextLines: show === "lines" ? request.context : 0,
        afterLine: isChanged ? lines.first - 1 : partial?.line ?? lines.first - 1,
        onMatch: (match) => (isPast = match.line > lines.last) || collector.addMatch(inPart?.(match) ?? match),
        onUnsure: collector.addUnsure,
        nextTurn,
        isOver: run.isOver,
        takesNul: run.isFile, // as it is read and edited
        mayStopAtOnce: state.searched > 1,
      });
      const searched = begun instanceof Promise ? await begun : begun;
      hasPaused ||= isDocument;
      const facts = factsOf(file);
      if (isDocument && facts?.isCut) collector.addUnsure(facts.places.at(-1)?.line ?? 1);
      const line = collector.end(searched);
      if (line !== null && !isPast) {
        const stopped = { segments: entry.segments, line, version: await versionOf(workspace, file) };
        next = { finished, ...line === 0 ? {} : { partial: stopped } };
        break;
      }
    }
    finished = { segments: entry.segments, isDirectory: entry.kind === "directory" && !entry.isSkipped };
  }
  // the last ones have no place to go on from
  const canGoOn = show !== "texts" && !request.last &&
    !(next?.finished === undefined && next?.partial === undefined);
  const answer = toAnswer(state, {
    next: canGoOn ? next : null,
    isCut: next !== null,
    ignored: run.ignored,
    tag: run.tag,
    hint: run.hint,
    limit: request.limit,
  });
  const outcome = withNotices(answer, notices);
  return { outcome, state, isCut: next !== null, isWhole: !(canGoOn && next !== null) && cursor === undefined };
}

/** What differs once the file was changed; empty where it cannot be read. */
async function versionOf(workspace: Workspace, path: WorkspacePath): Promise<string> {
  const read = await workspace.read(path, { offsetBytes: 0, lengthBytes: 1 });
  return read.ok ? tagOf([read.value.version]) : "";
}

/** Puts the page, slide or sheet before each match of a document; they come in the order of its lines. */
function createPartNames(facts: () => DocumentFacts | null): (match: LineMatch) => LineMatch {
  let at = 0;
  return (match) => {
    const { places = [] } = facts() ?? {};
    while ((places[at + 1]?.line ?? Infinity) < match.line) at++;
    const { name = "" } = places[at] ?? {};
    return name === "" || name === "text" ? match : { ...match, text: `[${name}] ${match.text}` };
  };
}

/** What is looked at, in the order of names. */
function candidates(run: SearchRun, nextTurn: NextTurn): AsyncIterable<Outcome<WalkedEntry>> | Outcome<WalkedEntry>[] {
  const { workspace, path, isFile, ignored, cursor } = run;
  const name = path.segments.at(-1) ?? "";
  if (isFile) {
    const isSkipped = ignored?.skips([name], false) ?? false;
    return [success({ name, kind: "file", path, segments: [name], mayHaveNext: false, isSkipped })];
  }
  const after = cursor?.finished === undefined ? {} : { after: cursor.finished };
  return walk(workspace, path, { depth: maxWalkDepth, nextTurn, ignored, ...after });
}

/** What plain text seldom holds, and expressions do: `a|b`, `.*`, `\d`, `\.`, `[a-z]`, `x{2}`, `(?i)`, `^x`, `x$`. */
const expressionLike = [
  /[^\s|]\|[^\s|]/,
  /[.)\]][*+?]/,
  /\\[bdswBDSW.()[\]{}|+*?^$]/,
  /\\[tr](?!\w)/,
  /\[[^\]\s]*(?:[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d)/,
  /\{\d+,?\d*\}/,
  /\(\?/,
  /^\^./,
  /.\$$/,
];

const isLikeOne = (text: string): boolean => expressionLike.some((sign) => sign.test(text));

/** That expressions in `all` or `without` were none; lines that hold such a text show that it was meant, but for `regex`. */
function plainNotices({ regex, all = [], without = [] }: SearchRequest, isFound: boolean): readonly Notice[] {
  const texts = [...regex || !isFound ? all : [], ...without].filter(isLikeOne).map(showWritten);
  const words = `all and without hold plain texts, such as ${texts.slice(0, maxNoticedNames).join(", ")}`;
  return texts.length === 0 ? [] : [{ words, isRemedy: false }];
}

// What names files: `*.ts`, `src/**/*.{ts,js}`.
const patternLike = /^[\w./*-]*\*\.[\w*{},.-]+$/;

/** `/x/i`, as in other languages. */
const slashed = /^\/(.+)\/([dgimsuvy]*)$/;
/** What is a line end alone, as `\n`, or wants to go over one, as `(?s)`; plain text may be a path, as `C:\new`. */
const lineEnds = /(?<!\\)(?:\\\\)*\\(?:n|x0a)|\(\?[imU]*s[imU]*[:)]/i;
const plainLineEnds = /\\n(?!\w)/;
const mayBeLineEnd = /\\[sDSW]|\[\^/;
const eitherOrAll = 'searched as plain text; give "a|b" and regex: true for either, or all for lines with each';
const byLine = "each line is searched separately: search for one of its lines, with context for those around it";

/** To be shown where nothing was found; `null` where the query says what it means. */
function hintFor({ query, regex }: SearchRequest): Notice | null {
  if (query === undefined) return null;
  const [, inner = "", flags = ""] = slashed.exec(query) ?? [];
  if (inner !== "" && (regex || flags !== "" || isLikeOne(inner) || !inner.includes("/"))) {
    const caseless = flags.includes("i") ? ", ignore_case: true" : "";
    return remedy(`write the expression without slashes: query ${showWritten(inner)}, regex: true${caseless}`);
  }
  if ((regex ? lineEnds : plainLineEnds).test(query)) return remedy(byLine);
  if (!regex && isLikeOne(query)) return remedy("searched as plain text; pass regex: true for an expression");
  if (!regex && /\s(?:OR|AND)\s/.test(query)) return remedy(eitherOrAll);
  if (!regex && /^\*\w|\w\*$/.test(query)) return remedy("in a query * is itself; leave it out");
  if (!regex) {
    return patternLike.test(query) ? remedy(`give ${showWritten(query)} as pattern to find files by name`) : null;
  }
  if (query.includes("\\|")) return remedy("in RE2 \\| is a plain |; write | for alternatives");
  if (/\\[<>]/.test(query)) return remedy("in RE2 \\< and \\> are plain signs; write \\b for the end of a word");
  return mayBeLineEnd.test(query) ? { words: byLine, isRemedy: false } : null;
}

function remedy(words: string): Notice {
  return { words, isRemedy: true };
}

/** The query but for what slips: case, blanks, quotes, dashes, whole words; `null` where it has none of these. */
function relaxedQuery(
  { query, regex, ignore_case: ignoreCase, whole_word: wholeWord }: SearchRequest,
  mayHaveOtherCase: boolean,
): LineQuery | null {
  if (query === undefined) return null;
  if (regex) return ignoreCase && !wholeWord ? null : { text: query, isRegularExpression: true, ignoreCase: true };
  const plain = query.trim().replace(/^(["'`])(.+)\1$/, "$2");
  const text = escapeExpression(plain).replace(/\\\W/g, "\\s*$&\\s*").replace(/['‘’‚′]/g, "['‘’‚′]")
    .replace(/["“”„″]/g, '["“”„″]').replace(/[\s_‐‑‒–—−-]+/g, "[\\s\u00a0\u202f_‐‑‒–—−-]*")
    .replaceAll("\\.\\s*\\s*\\.\\s*\\s*\\.", "(?:\\.{3}|…)");
  const hasSigns = /[^\p{L}\p{N}]/u.test(query);
  const hasCase = !ignoreCase && mayHaveOtherCase && query.toLowerCase() !== query.toUpperCase();
  return hasSigns || hasCase || wholeWord ? { text, isRegularExpression: true, ignoreCase: true } : null;
}
