/** The tool `file_list`: a directory, a tree, the largest or newest files, what a tree holds, and files that are equal. */
import * as z from "zod";
import { lazyObject } from "../../lib/lazy_object.ts";
import { clamped, defineTool, emptyIsAbsent, type Tool, type ToolOutcome } from "../../mcp/mod.ts";
import { childPath, createTwinDisplay, parseDirectoryPath, rootPath, showName, toPathText } from "../workspace/path.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import { type Workspace, type WorkspaceRefusal, type WorkspaceSource } from "../workspace/port.ts";
import { decodeWide, wideEncoding } from "../text/encoding.ts";
import { nextTurn } from "../../lib/turns.ts";
import {
  count,
  cursorWords,
  pageBytes,
  patternInput,
  tagOf,
  textAnswer,
  toTimestamp,
  toWalkCursor,
  toWalkCursorText,
  walkInput,
} from "./input.ts";
import { refuse, toFailure } from "./refusal.ts";
import { mayBeDocument, openDocuments } from "../documents/view.ts";
import type { Documents } from "../documents/reading.ts";
import { shareKey } from "../../lib/principal.ts";
import { createDigest } from "../../lib/secrets.ts";
import { createIgnored, maxWalkDepth, walk } from "../workspace/walk.ts";
import type { GlobMatcher, Ignored, WalkedEntry, WalkPosition } from "../workspace/walk.ts";
import { type Clock, systemClock } from "../../lib/time.ts";
import { toolFrames } from "./argument_names.ts";
import { findPath, suggestNear } from "./near_names.ts";
import { createNamePatterns, skippedOutput, skippedParts, toSize, visitsPerCheck, withNotices } from "./list_walk.ts";
import { failure, type Result, success } from "../../lib/result.ts";

/** At most 2,000 tokens of a tree with usual names. */
const usualPageEntries = 250;
const maxPageEntries = 10_000;
const maxDateCharacters = 100;
/** A time's zone; without one a time is in UTC, as listings show it. */
const zone = /\d(?:z|\s*(?:utc?|gmt|[a-z]{1,2}[sd]t)\b|\s*[+-]\d\d:?\d\d$)/i;
const action = "list directory";
/** Entries that a sorted listing, a summary or a search for equal files looks at: several times what repositories have. */
const maxTreeVisits = 200_000;

const input = lazyObject(() => ({
  path: z.string().default(".").describe("Directory, or one file"),
  ...patternInput(),
  depth: z.int().min(1).max(maxWalkDepth).optional().describe("Default 1 for a plain listing, else all").meta(
    clamped,
  ),
  show: z.enum(["names", "details", "bytes", "summary", "duplicates"]).default("names").describe(
    "details: size, time; bytes: exact size; summary: files, bytes, lines by extension; duplicates: equal files",
  ),
  sort: z.enum(["name", "size", "modified"]).default("name").describe("Largest or newest first"),
  order: z.enum(["asc", "desc"]).optional().describe("Default desc for size and modified").meta({ unlisted: true }),
  modified_after: z.string().optional().describe("2026-11-20T09:00Z or later").meta(emptyIsAbsent),
  limit: z.int().min(1).max(maxPageEntries).default(usualPageEntries).describe("Entries").meta(clamped),
  ...walkInput(),
}));

const entry = lazyObject(() => ({
  name: z.string().describe("Name, or path below the directory, exactly; escape it before showing it"),
  kind: z.enum(["file", "directory", "link", "other"]),
  size_bytes: z.int().optional(),
  modified_at: z.string().optional(),
}));
const output = lazyObject(() => ({
  path: z.string().describe("The directory; empty for the workspace itself"),
  entries: z.array(entry).optional(),
  next_cursor: z.string().optional(),
  total: z.int().optional().describe("Entries there are, where they were all looked at"),
  incomplete: z.literal(true).optional().describe("The tree is larger than what was looked at"),
  skipped: skippedOutput.optional().describe("Ignored entries that were skipped"),
  unread_directories: z.array(z.string()).optional(),
  files: z.int().optional(),
  directories: z.int().optional(),
  size_bytes: z.int().optional(),
  lines: z.int().optional(),
  extensions: z.array(
    z.object({ extension: z.string(), files: z.int(), size_bytes: z.int(), lines: z.int().optional() }),
  )
    .optional(),
  duplicates: z.array(z.object({ size_bytes: z.int(), names: z.array(z.string()) })).optional(),
}));

interface FileListOptions {
  /** What tells the pages of a document, where its details are asked for by its path. */
  readonly documents?: Documents;
  /** After this time a listing answers with what it has found, and a cursor. */
  readonly maxListMilliseconds?: number;
  /** How long a call may take: it answers before that, too. */
  readonly toolMilliseconds?: number;
  readonly maxVisits?: number;
  readonly clock?: Clock;
}

/** The tool that `app` registers to list directories and trees; a page ends with a cursor. */
export function fileListTool(
  source: WorkspaceSource,
  {
    maxListMilliseconds = 10_000,
    toolMilliseconds = Infinity,
    maxVisits = maxTreeVisits,
    clock = systemClock,
    documents,
  }: FileListOptions = {},
): Tool {
  return defineTool({
    ...toolFrames.list(maxPageEntries, maxWalkDepth),
    description:
      "Lists a directory, or the tree below it, indented (ls, tree, find, wc): by size, time or name, with " +
      "counts of lines, or only equal files.",
    input,
    output,
    async run(request, context) {
      const workspace = source(context.principal);
      const found = await findPath(workspace, "path", request.path, { parse: parseDirectoryPath });
      if (!found.ok) return found.error;
      const since = request.modified_after?.trim() ?? "2026";
      const inUtc = zone.test(since) ? since : `${since.replace(/(?<=\d)T(?=\d)/i, " ")} UTC`;
      const modifiedAfter = request.modified_after === undefined ? null : Date.parse(inUtc);
      // 01/02/2026 may be of two days
      const isDate = since.length <= maxDateCharacters && /^(?:\d{4}\b|\D.*\b\d{4}\b)/.test(since);
      if (Number.isNaN(modifiedAfter) || !isDate) {
        return refuse(action, "modified_after is no date; write it as 2026-11-20T09:00Z");
      }
      const { show, sort, pattern } = request;
      const isReversed = request.order === (sort === "name" ? "desc" : "asc");
      const isPaged = show !== "summary" && show !== "duplicates" && sort === "name" && !isReversed;
      const { value: given } = found;
      const there = given.text === "" ? null : await workspace.stat(given);
      const isFile = there?.ok === true && there.value.kind === "file";
      const isDetailed = show === "details" || show === "bytes";
      const isPlain = pattern === undefined && modifiedAfter === null && sort === "name" &&
        (show === "names" || isDetailed);
      const depth = isFile ? 1 : request.depth ?? (isPlain ? 1 : maxWalkDepth);
      const path = isFile ? childPath(rootPath, given.segments.slice(0, -1)) : given;
      const patterns = createNamePatterns(path, request);
      if (patterns === null) return refuse(action, "a pattern is empty, too long or has too many alternatives");
      const { exclude, include_ignored: ignored } = request;
      const tag = tagOf([given.text, pattern, exclude, depth, modifiedAfter, ignored, isPaged]);
      const after = request.cursor === undefined ? undefined : toWalkCursor(tag, request.cursor);
      if (typeof after === "string") return refuse(action, cursorWords(after));
      const deadline = clock() + Math.min(maxListMilliseconds, toolMilliseconds);
      const listing = {
        workspace,
        path,
        depth,
        limit: Math.min(request.limit, workspace.limits.maxListEntries),
        matches: (names: readonly string[]) =>
          (!isFile || names[0] === given.segments.at(-1)) && patterns.matches(names),
        hasDirectoriesOnly: !isFile && /[^$]\/$/.test(pattern ?? ""), // else it is an expression
        isFlat: pattern !== undefined && !/^[*/]+$/.test(pattern),
        isExact: show === "bytes",
        modifiedAfter,
        // a plain listing shows all that there is
        ignored: patterns.alsoExcluding(
          depth === 1 || request.include_ignored ? undefined : await createIgnored(workspace, path),
        ),
        isOver: () => clock() > deadline || context.signal.aborted,
        maxVisits,
        now: clock(),
      };
      const answer = show === "summary"
        ? await summarize(listing)
        : show === "duplicates"
        ? await listDuplicates(listing)
        : !isPaged
        ? await listSorted(listing, sort, isReversed)
        : await listPage(listing, { details: isDetailed || modifiedAfter !== null, after, tag });
      if (isFile && isDetailed && documents !== undefined && answer.ok && mayBeDocument(given.text)) {
        const access = { documents, caller: shareKey(context.principal), work: context };
        const { view, factsOf } = openDocuments(workspace, access);
        await view.readInto(given, new Uint8Array(1), 0);
        const size = factsOf(given)?.size;
        if (size !== undefined) {
          return { ...answer, content: [...answer.content ?? [], { type: "text", text: `(${size})` }] };
        }
      }
      const isWhole = answer.ok && !("next_cursor" in (answer.structuredContent ?? {})) && request.cursor === undefined;
      return await suggestNear(workspace, path, isWhole ? withNotices(answer, patterns.notices()) : answer);
    },
  });
}

/** What is listed, and how. */
interface TreeListing {
  readonly workspace: Workspace;
  readonly path: WorkspacePath;
  readonly depth: number;
  readonly limit: number;
  readonly matches: GlobMatcher;
  /** As a pattern says that ends with a slash. */
  readonly hasDirectoriesOnly: boolean;
  /** Paths in the workspace, which the next call can take, in place of a tree. */
  readonly isFlat: boolean;
  /** Sizes in bytes, in place of K and M. */
  readonly isExact: boolean;
  /** Milliseconds since the epoch, that time included: what was shown to the minute is found again. Only files. */
  readonly modifiedAfter: number | null;
  readonly ignored: Ignored | undefined;
  readonly isOver: () => boolean;
  /** Entries that an answer about the whole tree looks at. */
  readonly maxVisits: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Characters of paths as JSON, after which a page ends: a tree's line has one name, and an entry its whole path. */
const maxPageCharacters = 1_000_000;

/** Lists from the beginning, or from where a page ended, until the page is full. */
async function listPage(
  listing: TreeListing,
  { details, after, tag }: {
    readonly details: boolean;
    readonly after: WalkPosition | undefined;
    /** Of the cursor to go on with. */
    readonly tag: string;
  },
): Promise<ToolOutcome> {
  const { workspace, path, depth, limit, ignored, isOver } = listing;
  const tree = createTree(listing);
  const found: WalkedEntry[] = [];
  let visited = 0;
  let characters = 0;
  let last: WalkPosition | undefined;
  let isCut = false;
  for await (
    const step of walk(workspace, path, { depth, details, ignored, ...after === undefined ? {} : { after } })
  ) {
    if (!step.ok) return toFailure(action, path, step.error);
    visited++;
    const { segments, kind, mayHaveNext, isSkipped } = step.value;
    last = { segments, isDirectory: kind === "directory" && !isSkipped };
    if (isWanted(listing, step.value)) {
      found.push(step.value);
      tree.add(step.value);
      characters += JSON.stringify(segments).length;
    }
    const isEnough = found.length === limit || tree.characters > pageBytes || characters > maxPageCharacters ||
      visited === workspace.limits.maxTreeEntries;
    // asked for now and then only: short listings never pay for a signal
    if (isEnough || ((isSkipped || visited % visitsPerCheck === 0) && isOver())) {
      isCut = mayHaveNext;
      break;
    }
  }
  const twins = createTwinDisplay(found.map(({ segments }) => segments.join("/")));
  const shown = twins === null ? tree : createTree(listing, twins);
  if (shown !== tree) found.forEach(shown.add);
  const nextCursor = isCut && last !== undefined ? toWalkCursorText(tag, last) : undefined;
  const skipped = skippedParts(ignored);
  const none = isCut ? "(none so far)" : "(no entries)";
  const lines = [
    ...(found.length === 0 ? [none] : shown.lines),
    ...skipped.lines,
    ...(nextCursor === undefined ? [] : [`(there is more: continue with cursor ${nextCursor})`]),
  ];
  return textAnswer(lines.join("\n"), {
    path: toPathText(path.text),
    entries: found.map(toEntry),
    ...skipped.facts,
    ...nextCursor === undefined ? {} : { next_cursor: nextCursor },
  });
}

/** Lines of a tree: an entry's name below the lines of the directories that lead to it. */
function createTree(
  { path, isFlat, ...form }: TreeListing,
  display = (_path: string, name: string): string => showName(name),
): {
  readonly lines: readonly string[];
  readonly characters: number;
  add(entry: WalkedEntry): void;
} {
  const lines: string[] = [];
  let characters = 0;
  let open: readonly string[] = [];
  const push = (line: string): void => {
    lines.push(line);
    characters += line.length + 1;
  };
  return {
    lines,
    get characters() {
      return characters;
    },
    add(entry) {
      const { segments, kind } = entry;
      if (isFlat) return push(toTreeLine(entry, display(segments.join("/"), childPath(path, segments).text), form));
      const parents = segments.slice(0, -1);
      let shared = 0;
      while (shared < parents.length && open[shared] === parents[shared]) shared++;
      for (const [level, name] of parents.entries()) {
        if (level >= shared) push(`${"  ".repeat(level)}${display(parents.slice(0, level + 1).join("/"), name)}/`);
      }
      const indent = "  ".repeat(parents.length);
      push(`${indent}${toTreeLine(entry, display(segments.join("/"), segments.at(-1) ?? ""), form)}`);
      open = kind === "directory" ? segments : parents;
    },
  };
}

/** Whether a listing names the entry. */
function isWanted(
  { matches, modifiedAfter, hasDirectoriesOnly }: TreeListing,
  { segments, kind, modifiedAt = 0, isSkipped }: WalkedEntry,
): boolean {
  if (isSkipped || (hasDirectoriesOnly && kind !== "directory") || !matches(segments)) return false;
  return modifiedAfter === null || (kind === "file" && modifiedAt >= modifiedAfter);
}

/** The entry as structured content has it. */
function toEntry({ segments, kind, sizeBytes, modifiedAt }: WalkedEntry): Record<string, unknown> {
  const entry: Record<string, unknown> = { name: toPathText(segments.join("/")), kind };
  if (sizeBytes !== undefined) entry["size_bytes"] = sizeBytes;
  if (modifiedAt !== undefined) entry["modified_at"] = toTimestamp(modifiedAt);
  return entry;
}

const marks = { file: "", directory: "/", link: " (link)", other: " (pipe, socket or device)" };

/** Trees show changes within this time to the minute, older ones by day. */
const recentMilliseconds = 7 * 24 * 60 * 60 * 1000;

/** The entry's name, as it is shown, with a mark of its kind, in a tree: columns behind it, as few characters as say enough. */
function toTreeLine(
  { kind, sizeBytes, modifiedAt }: WalkedEntry,
  shownName: string,
  { now, isExact }: Pick<TreeListing, "now" | "isExact">,
): string {
  const size = sizeBytes === undefined ? "" : ` ${toSize(sizeBytes, isExact)}`;
  const isRecent = modifiedAt !== undefined && now - modifiedAt < recentMilliseconds;
  const time = modifiedAt === undefined || kind === "directory"
    ? ""
    : ` ${toTimestamp(modifiedAt).slice(0, isRecent ? 16 : 10)}`;
  return `${shownName}${marks[kind]}${size}${time}`;
}

/** Entries held beyond the shown ones before sorting. */
const maxUnsorted = 5_000;

/** Each as it is without `order`. */
const orders: Readonly<Record<"name" | "size" | "modified", (one: WalkedEntry, other: WalkedEntry) => number>> = {
  name: ({ segments: one }, { segments: other }) => one.join("\0") < other.join("\0") ? -1 : 1,
  size: ({ sizeBytes: one = 0 }, { sizeBytes: other = 0 }) => other - one,
  modified: ({ modifiedAt: one = 0 }, { modifiedAt: other = 0 }) => other - one,
};

/** Lists the first of the tree's entries in this order. By size, only files count. */
async function listSorted(listing: TreeListing, sort: keyof typeof orders, isReversed: boolean): Promise<ToolOutcome> {
  const compare = orders[sort];
  let total = 0;
  let first: WalkedEntry[] = [];
  const keepFirst = (): void => {
    first = first.sort((one, other) => isReversed ? compare(other, one) : compare(one, other)).slice(0, listing.limit);
  };
  const visited = await visitWanted(listing, (entry) => {
    if (sort === "size" && entry.kind !== "file") return;
    total++;
    if (first.push(entry) >= listing.limit + maxUnsorted) keepFirst();
  });
  if (!visited.ok) return toFailure(action, listing.path, visited.error);
  keepFirst();
  const lines = fitPage(first.map((entry) => toTreeLine(entry, showName(entry.segments.join("/")), listing)));
  const shown = lines.length;
  return wholeTreeAnswer(listing, {
    lines: [
      ...(shown === 0 ? ["(no entries)"] : lines),
      ...(shown < total ? [`(the first ${shown} of ${total})`] : []),
    ],
    facts: { entries: first.slice(0, shown).map(toEntry) },
    total,
    isCut: visited.value,
  });
}

/** Visits all entries that are wanted; `true` where the tree is larger than what was looked at. */
async function visitWanted(
  listing: TreeListing,
  visit: (entry: WalkedEntry) => void | Promise<void>,
): Promise<Result<boolean, WorkspaceRefusal>> {
  const { workspace, path, depth, ignored, isOver, maxVisits } = listing;
  let visited = 0;
  for await (const step of walk(workspace, path, { depth, details: true, ignored })) {
    if (!step.ok) return failure(step.error);
    const { mayHaveNext, isSkipped } = step.value;
    if (isWanted(listing, step.value)) await visit(step.value);
    visited++;
    const isTime = (isSkipped || visited % visitsPerCheck === 0) && isOver();
    if (visited === maxVisits || isTime) return success(mayHaveNext);
  }
  return success(false);
}

/** The first of the lines that a page holds: one at least. */
function fitPage(lines: Iterable<string>): readonly string[] {
  const page: string[] = [];
  let characters = 0;
  for (const line of lines) {
    characters += line.length + 1;
    if (characters > pageBytes && page.length > 0) break;
    page.push(line.length <= pageBytes ? line : line.slice(0, pageBytes).toWellFormed());
  }
  return page;
}

/** The answer of a listing of the whole tree: its lines, the skipped entries, and whether that was all. */
function wholeTreeAnswer(
  { path, ignored }: TreeListing,
  { lines, facts, total, isCut }: {
    readonly lines: readonly string[];
    readonly facts: Readonly<Record<string, unknown>>;
    /** Left out of an answer that is cut, or that has none. */
    readonly total?: number;
    readonly isCut: boolean;
  },
): ToolOutcome {
  const skipped = skippedParts(ignored);
  const text = [...lines, ...skipped.lines, ...isCut ? [cutNotice] : []].join("\n");
  const extent = isCut ? { incomplete: true } : total === undefined ? {} : { total };
  return textAnswer(text, { path: toPathText(path.text), ...facts, ...extent, ...skipped.facts });
}

const cutNotice = "(the tree is larger than what was looked at: name a directory in it, or exclude some)";

const readBytes = 262_144;
const newline = 0x0a;
/** Of binary files, which have no lines, a NUL is among the first bytes. */
const sniffedBytes = 8_192;
const maxExtensions = 40;
/** Names that an answer repeats of files that cannot be read. */
const maxUnreadNames = 5;

interface Total {
  files: number;
  sizeBytes: number;
  lines: number;
}

/** Counts everything in the tree, reading the files for their lines. */
async function summarize(listing: TreeListing): Promise<ToolOutcome> {
  const { path, isOver, isFlat, modifiedAfter } = listing;
  const byExtension = new Map<string, Total>();
  const unread: string[] = [];
  const all: Total = { files: 0, sizeBytes: 0, lines: 0 };
  const buffer = new Uint8Array(readBytes);
  let directories = 0;
  const visited = await visitWanted(listing, async ({ kind, path, segments, sizeBytes = 0 }) => {
    if (kind === "directory") directories++;
    if (kind !== "file") return;
    const lines = isOver() ? 0 : await countLines(listing, path, buffer);
    if (lines === null) unread.push(segments.join("/"));
    const extension = /[^.]\.([^.]{1,12})$/.exec(segments.at(-1) ?? "")?.[1]?.toLowerCase() ?? "";
    const total = byExtension.get(extension) ?? { files: 0, sizeBytes: 0, lines: 0 };
    byExtension.set(extension, total);
    for (const each of [total, all]) {
      each.files++;
      each.sizeBytes += sizeBytes;
      each.lines += lines ?? 0;
    }
    await nextTurn();
  });
  if (!visited.ok) return toFailure("list directory", path, visited.error);
  const isCut = visited.value || isOver();
  const extensions = [...byExtension].sort(([, one], [, other]) => other.sizeBytes - one.sizeBytes);
  // where not all was looked at, a count of lines would be read as that of the tree
  const linesOf = ({ lines }: Total): string => isCut ? "" : `, ${count(lines, "line")}`;
  // the listed directories do not hold some of the files
  const place = isFlat || modifiedAfter !== null ? "" : ` in ${count(directories, "directory", "directories")}`;
  const factsOf = ({ files, sizeBytes, lines }: Total) => ({ files, size_bytes: sizeBytes, ...isCut ? {} : { lines } });
  return wholeTreeAnswer(listing, {
    lines: [
      `${isCut ? "at least " : ""}${count(all.files, "file")}${place}, ${toSize(all.sizeBytes)} bytes${linesOf(all)}`,
      ...extensions.slice(0, maxExtensions).map(([extension, total]) =>
        `${extension === "" ? "(none)" : `.${showName(extension)}`}: ${count(total.files, "file")}, ${
          toSize(total.sizeBytes)
        }${linesOf(total)}`
      ),
      ...(extensions.length > maxExtensions
        ? [`(and ${count(extensions.length - maxExtensions, "further extension")})`]
        : []),
      ...(isCut ? ["(lines were not counted)"] : leftOut("lines not counted, since they cannot be read", unread)),
    ],
    facts: {
      ...factsOf(all),
      directories,
      extensions: extensions.slice(0, maxExtensions).map(([extension, total]) => ({ extension, ...factsOf(total) })),
    },
    isCut,
  });
}

/** The notice of files that were left out, such as those with several names (hard links); none of none. */
function leftOut(what: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const more = names.length - maxUnreadNames;
  const shown = names.slice(0, maxUnreadNames).map(showName).join(", ");
  return [`(${what}: ${count(names.length, "file")}: ${shown}${more > 0 ? ", ..." : ""})`];
}

/** Gives a file piece by piece, until enough was taken; `false` when it cannot be read, or not in time. */
async function eachPiece(
  { workspace, isOver }: TreeListing,
  path: WorkspacePath,
  buffer: Uint8Array,
  isEnough: (piece: Uint8Array) => boolean,
): Promise<boolean> {
  for (let offsetBytes = 0;;) {
    const read = await workspace.readInto(path, buffer, offsetBytes);
    if (!read.ok || isOver()) return false;
    await nextTurn();
    const { lengthBytes, sizeBytes } = read.value;
    if (isEnough(buffer.subarray(0, lengthBytes))) return true;
    offsetBytes += lengthBytes;
    if (lengthBytes === 0 || offsetBytes >= sizeBytes) return true;
  }
}

/** Line ends, and a last line without one; 0 for what is binary, `null` for what cannot be read. */
async function countLines(listing: TreeListing, path: WorkspacePath, buffer: Uint8Array): Promise<number | null> {
  let lines = 0;
  let last = newline;
  let wide: ReturnType<typeof wideEncoding> | undefined;
  const isRead = await eachPiece(listing, path, buffer, (bytes) => {
    if (wide === undefined) wide = wideEncoding(bytes);
    const piece = wide === null ? bytes : Buffer.from(decodeWide(bytes.subarray(0, bytes.length & ~1), wide));
    if (wide === null && piece.subarray(0, sniffedBytes).includes(0)) {
      [lines, last] = [0, newline];
      return true;
    }
    for (let at = piece.indexOf(newline); at !== -1; at = piece.indexOf(newline, at + 1)) lines++;
    last = piece.at(-1) ?? last;
    return false;
  });
  return isRead ? lines + (last === newline ? 0 : 1) : null;
}

/** Files that are held to be compared. */
const maxFiles = 50_000;
/** Finds files of the same content; empty ones are not told. */
async function listDuplicates(listing: TreeListing): Promise<ToolOutcome> {
  const { path, limit, isOver } = listing;
  const files: WalkedEntry[] = [];
  let isFull = false;
  const visited = await visitWanted(listing, (entry) => {
    if (entry.kind !== "file" || (entry.sizeBytes ?? 0) === 0) return;
    if (files.length < maxFiles) files.push(entry);
    else isFull = true;
  });
  if (!visited.ok) return toFailure("list directory", path, visited.error);
  const buffer = new Uint8Array(readBytes);
  const unread: string[] = [];
  const groups: { readonly sizeBytes: number; readonly names: readonly string[] }[] = [];
  for (const [sizeBytes, sameSize] of Map.groupBy(files, ({ sizeBytes }) => sizeBytes ?? 0)) {
    if (sameSize.length < 2) continue;
    const byContent = new Map<string, WalkedEntry[]>();
    for (const entry of sameSize) {
      const hash = isOver() ? null : await hashFile(listing, entry.path, buffer);
      if (hash === null) unread.push(entry.segments.join("/"));
      else byContent.getOrInsertComputed(hash, () => []).push(entry);
    }
    for (const same of byContent.values()) {
      if (same.length > 1) groups.push({ sizeBytes, names: same.map(({ segments }) => segments.join("/")) });
    }
  }
  groups.sort((one, other) => other.sizeBytes * (other.names.length - 1) - one.sizeBytes * (one.names.length - 1));
  const lines = fitPage(
    groups.slice(0, limit).map(({ sizeBytes, names }) =>
      `${names.length} files of ${toSize(sizeBytes)}: ${names.map(showName).join(", ")}`
    ),
  );
  return wholeTreeAnswer(listing, {
    lines: [
      ...(groups.length > 0 ? lines : [
        unread.length === 0 ? `(${count(files.length, "file")}, none equal to another)` : "(no equal files found)",
      ]),
      ...(lines.length < groups.length ? [`(the first ${lines.length} of ${count(groups.length, "group")})`] : []),
      ...leftOut("not compared, for lack of time or since they cannot be read", unread),
    ],
    facts: {
      duplicates: groups.slice(0, lines.length).map(({ sizeBytes, names }) => ({
        size_bytes: sizeBytes,
        names: names.map(toPathText),
      })),
    },
    total: groups.length,
    isCut: visited.value || isFull || isOver(),
  });
}

/** SHA-256 of a file; `null` when it cannot be read, or not in time. */
async function hashFile(listing: TreeListing, path: WorkspacePath, buffer: Uint8Array): Promise<string | null> {
  const digest = createDigest();
  const isRead = await eachPiece(listing, path, buffer, (piece) => {
    digest.update(piece);
    return false;
  });
  return isRead ? digest.digest("hex") : null;
}
