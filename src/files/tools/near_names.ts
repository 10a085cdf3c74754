/**
 * What a caller may have meant by a path that is not there. Where only the Unicode form differs it is that one: macOS
 * writes é as e and an accent, models as one character. Else the refusal names the nearest paths that are there.
 */
import { decodeTriplets } from "../../lib/network.ts";
import { closestWord, maySuggestPath, maySuggestPlace } from "../../lib/suggestible.ts";
import { nextTurn } from "../../lib/turns.ts";
import { type Clock, systemClock } from "../../lib/time.ts";
import type { ToolOutcome } from "../../mcp/mod.ts";
import { unicodeForms } from "../text/finder.ts";
import {
  childPath,
  entryPath,
  foldName,
  maxPathBytes,
  parseDirectoryPath,
  parseFilePath,
  type PathRule,
  rootPath,
  showName,
  type WorkspacePath,
} from "../workspace/path.ts";
import { createIgnored, walk } from "../workspace/walk.ts";
import type { DirectoryEntry, Workspace } from "../workspace/port.ts";
import { type Failure, refuse, toPathFailure } from "./refusal.ts";
import { failure, type Result, success } from "../../lib/result.ts";

const maxSuggestions = 3;
/** Paths in one text that are looked for. */
const maxListed = 10;
/** Names of one directory that are compared. */
const maxNames = 5_000;
/** So many are compared before others may have their turn. */
const namesPerTurn = 16;
/** Entries of the tree that are visited for the same name elsewhere, those of one name that are compared, and levels. */
const maxVisits = 5_000;
const maxNamesakes = 20;
const maxDepth = 32;
/** Names that are listed, compared and met for one call: some 0.3 s on the thread. */
const maxSteps = 100_000;
/** For a slow disk, or a thread that many share. */
const maxMilliseconds = 3_000;
/** Stands for whatever is in a directory. */
const anyName = "?";
/** Deeper paths are no slip of the pen. */
const maxSegments = 32;
const absolute = /^(?:[A-Za-z]:|\.\.)?[\\/]/;
const ascii = /^[\x20-\x7e]*$/;

/** Parses the path of something that is there: not the empty text, which is the workspace for {@link parseDirectoryPath}. */
export function parseEntryPath(text: string): Result<WorkspacePath, PathRule> {
  return text === "" ? failure("empty") : parseDirectoryPath(text);
}

/**
 * What one call looks at to find what its names may mean: directories that it lists once for all names in them, and a
 * tree that it goes through once. Its bounds are for all names together: a call on many paths begins one look.
 */
export interface Look {
  /** Directories whose names were asked for one after another. */
  listed: Listed | null;
  /** What was met in the tree, and what is still to come. */
  readonly met: (readonly string[])[];
  walking: AsyncGenerator<readonly string[]> | null;
  readonly clock: Clock;
  leftSteps: number;
  leftMs: number;
}

interface Listed {
  readonly workspace: Workspace;
  readonly text: string;
  readonly entries: readonly DirectoryEntry[];
  known?: readonly KnownName[];
  /** Names that are not ASCII by their composed form. */
  composed?: ReadonlyMap<string, readonly string[]>;
}

interface KnownName {
  readonly name: string;
  readonly folded: string;
}

export function beginLook(clock: Clock = systemClock): Look {
  return { listed: null, met: [], walking: null, clock, leftSteps: maxSteps, leftMs: maxMilliseconds };
}

/** A caller's path in its stored form, or the refusal; with a `look`: with the path that works, where one is there. */
export async function findPath(
  workspace: Workspace,
  parameter: string,
  text: string,
  { parse = parseFilePath, look = beginLook() }: {
    readonly parse?: typeof parseFilePath;
    readonly look?: Look | null;
  } = {},
): Promise<Result<WorkspacePath, Failure>> {
  const parsed = parse(text);
  return parsed.ok
    ? success(await inStoredForm(workspace, parsed.value, look))
    : failure(await suggestRelative(workspace, parameter, parsed.error, text, look));
}

/**
 * The path with its names as their directories have them, where only the Unicode form differs; else the path itself. Of
 * a call's names only the first few have a `look` for forms that are neither composed nor decomposed.
 */
export async function inStoredForm(
  workspace: Workspace,
  path: WorkspacePath,
  look: Look | null = beginLook(),
): Promise<WorkspacePath> {
  if (ascii.test(path.text) || (await workspace.stat(path)).ok) return path;
  let found = rootPath;
  for (const [index, name] of path.segments.entries()) {
    const same = entryPath(found, name);
    await nextTurn();
    if (ascii.test(name) || (await workspace.stat(same)).ok) {
      found = same;
      continue;
    }
    const composed = name.normalize("NFC");
    const forms: string[] = [];
    for (const form of unicodeForms(name)) {
      const other = parseDirectoryPath(entryPath(found, form).text); // a longer form may be no path
      if (form !== name && other.ok && (await workspace.stat(other.value)).ok) forms.push(form);
    }
    if (forms.length === 0 && look !== null) {
      const listed = await listNames(workspace, found, look);
      forms.push(...(listed.composed ??= await composedNames(listed.entries)).get(composed) ?? []);
    }
    if (forms.length !== 1) return childPath(found, path.segments.slice(index)); // what follows is not there either
    found = childPath(found, forms);
  }
  return found;
}

async function composedNames(entries: readonly DirectoryEntry[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const composed = new Map<string, string[]>();
  for (const [at, { name }] of entries.entries()) {
    if (at % namesPerTurn === 0) await nextTurn();
    if (!ascii.test(name)) composed.getOrInsertComputed(name.normalize("NFC"), () => []).push(name);
  }
  return composed;
}

/**
 * The outcome of a call on `path`; if nothing is there, its message names the nearest paths that are, of those that the
 * caller may learn: no directory where the tool takes files alone (`isFile`). Every tool that takes a path ends with
 * this; what it looks at is bounded, and takes turns.
 */
export async function suggestNear<Outcome extends ToolOutcome | { readonly code: string; readonly message: string }>(
  workspace: Workspace,
  path: WorkspacePath,
  outcome: Outcome,
  { isFile = false, look = beginLook() }: { readonly isFile?: boolean; readonly look?: Look } = {},
): Promise<Outcome> {
  if (!("code" in outcome) || outcome.code !== "not_found" || path.segments.length > maxSegments) return outcome;
  const began = look.clock();
  const isOver = (steps = 0): boolean => (look.leftSteps -= steps) < 0 || look.clock() - began > look.leftMs;
  const words = await nearWords(workspace, path, { look, isFile, isOver });
  look.leftMs -= look.clock() - began;
  return words === null ? outcome : { ...outcome, message: `${outcome.message}; ${words}` };
}

interface Looking {
  readonly look: Look;
  readonly isOver: IsOver;
}

/** Whether the look ends before so many further steps. */
type IsOver = (steps?: number) => boolean;

/** What may have been meant; `null` where nothing is known. */
async function nearWords(
  workspace: Workspace,
  path: WorkspacePath,
  { isFile, ...looking }: Looking & { readonly isFile: boolean },
) {
  if (/[*?]/.test(path.text)) return "a path is no pattern: file_list and file_search take pattern";
  const several = await severalPaths(workspace, path);
  if (several.length > 1) return `this is more than one path: ${several.map(showName).join(" and ")}`;
  const near: string[] = [];
  for (const each of await writtenOtherwise(workspace, path) ?? await nearPaths(workspace, path, looking)) {
    const there = isFile ? parseDirectoryPath(each) : null; // no directory is read or edited
    const entry = there?.ok ? await workspace.stat(there.value) : null;
    if (!entry?.ok || entry.value.kind !== "directory") near.push(each);
  }
  if (near.includes(path.text)) return "there is a link of this name, but nothing where it leads"; // else it was found
  const [last, ...others] = near.map(showName).reverse();
  if (last === undefined) return null;
  return `did you mean ${others.length === 0 ? last : `${others.reverse().join(", ")} or ${last}`}?`;
}

/**
 * The failure of a path that breaks a rule. Agents type absolute paths, which lead through directories above the
 * workspace: the remedy is the longest end of the path that is there.
 */
export async function suggestRelative(
  workspace: Workspace,
  parameter: string,
  rule: PathRule,
  given: string,
  look: Look | null = beginLook(),
): Promise<Failure> {
  if (rule === "trailing_slash" && look !== null) {
    return await ofDirectory(workspace, toPathFailure(parameter, rule), given);
  }
  const names = given.length > maxPathBytes ? [] : given.replaceAll("\\", "/").split("/").slice(1);
  const isAbsolute = look !== null && rule === "leaves_workspace" && absolute.test(given);
  if (!isAbsolute || names.length > maxSegments) return toPathFailure(parameter, rule, given);
  for (const index of names.keys()) {
    const path = parseDirectoryPath(names.slice(index).join("/"));
    if (!path.ok || path.value.text === "") continue;
    const found = await inStoredForm(workspace, path.value, look);
    if (await isOpen(workspace, found)) return toPathFailure(parameter, rule, `/${found.text}`);
  }
  return toPathFailure(parameter, rule, given);
}

/** The refusal of a path with a slash at its end, with what is there. */
async function ofDirectory(workspace: Workspace, failed: Failure, given: string): Promise<Failure> {
  const path = parseDirectoryPath(given);
  const there = path.ok && await maySuggestPath(path.value.text) ? await workspace.stat(path.value) : null;
  if (!path.ok || !there?.ok) return failed;
  const shown = showName(path.value.text === "" ? "." : path.value.text);
  const remedy = there.value.kind === "file" ? `did you mean ${shown}?` : `${shown} is a directory: name a file in it`;
  return { ...failed, message: `${failed.message}; ${remedy}` };
}

/**
 * The refusal of a new path that is another one in quotes or blanks, behind `~`, or percent-encoded; `null` for others.
 * An escape in a name may be a part of it, but for that of a slash.
 */
export async function slipOf(workspace: Workspace, action: string, path: WorkspacePath): Promise<Failure | null> {
  const quoted = /^(?:~|\$HOME)\/|^\s+|^(["'`])(.+)\1$/;
  if (!quoted.test(path.text) && !/%[0-9a-f]{2}/i.test(path.text)) return null;
  if ((await workspace.stat(path)).ok) return null;
  const plain = /%2f/i.test(path.text) ? decodeTriplets(path.text) ?? path.text : path.text.replace(quoted, "$2");
  const [meant = plain] = await writtenOtherwise(workspace, path) ?? [];
  if (meant === path.text || !parseDirectoryPath(meant).ok) return null;
  return refuse(action, `paths are written as they are; did you mean ${showName(meant)}?`);
}

/** The paths that one text lists, or the lines of one file, where all of these are there; else none. */
async function severalPaths(workspace: Workspace, { text }: WorkspacePath): Promise<readonly string[]> {
  const parts = text.split(/[,;]/.test(text) ? /\s*[,;]\s*/ : /\s+/, maxListed + 1);
  const paths: string[] = [];
  if (parts.length > maxListed) return paths;
  for (const part of parts) {
    const isRange = /^L?\d+(?:-L?\d+)?$/.test(part);
    const file = (isRange ? paths[0] : part)?.replace(lines, "") ?? "";
    const path = parseDirectoryPath(file);
    if (file === "" || !path.ok || !await isOpen(workspace, path.value)) return [];
    paths.push(isRange ? `${file}:${part}` : part);
  }
  return paths;
}

/** Lines of a file behind its name. */
const lines = /(?::|#L)L?-?\d+(?:-(?:L?\d+)?)?$/;

/** What is there under the text as prose or an address writes it, or with a backslash, taken for a separator, in a name. */
async function writtenOtherwise(
  workspace: Workspace,
  { text, segments }: WorkspacePath,
): Promise<readonly string[] | null> {
  const plain = text.trim().replace(/^(["'`])(.*)\1$/, "$2").replace(/^@/, "");
  const read = [plain, decodeTriplets(plain) ?? text, text.replaceAll("/ ", " ")].map(parseDirectoryPath);
  const forms = [
    ...read.flatMap((path) => path.ok ? [path.value] : []),
    ...segments.slice(1).map((_, at) => childPath(rootPath, [...segments.slice(0, at), segments.slice(at).join("\\")])),
  ];
  for (const path of forms) {
    if (!["", text].includes(path.text) && await isOpen(workspace, path)) return [path.text];
  }
  return null;
}

/** Whether something is there that the caller may learn of. */
async function isOpen(workspace: Workspace, path: WorkspacePath): Promise<boolean> {
  return await maySuggestPath(path.text) && (await workspace.stat(path)).ok;
}

/** Paths in the same directory that are spelled nearly so, else those of the same name elsewhere; the nearest first. */
async function nearPaths(workspace: Workspace, path: WorkspacePath, looking: Looking): Promise<readonly string[]> {
  const { segments } = path;
  let directory = rootPath;
  for (const [index, name] of segments.entries()) {
    const isLast = index === segments.length - 1;
    if (!await maySuggestPath(entryPath(directory, anyName).text)) return [];
    if (!isLast && (await workspace.stat(entryPath(directory, name))).ok) {
      directory = entryPath(directory, name);
      continue;
    }
    const near = await nearNames(workspace, directory, name, looking);
    const [nearest] = near;
    if (nearest === undefined) break;
    if (isLast) {
      const here = near.map((each) => entryPath(directory, each).text);
      if (digitsOf(nearest) === digitsOf(name)) return here;
      // another year's file is further away than one of this name elsewhere
      return [...new Set([...await namesakes(workspace, segments, looking), ...here])].slice(0, maxSuggestions);
    }
    directory = entryPath(directory, nearest);
  }
  return await namesakes(workspace, segments, looking);
}

/** Whether there is a link at the path, wherever it leads, among the first names of its directory. */
export async function isLink(workspace: Workspace, { segments }: WorkspacePath, look = beginLook()): Promise<boolean> {
  const { entries } = await listNames(workspace, childPath(rootPath, segments.slice(0, -1)), look);
  return entries.some(({ name, kind }) => kind === "link" && name === segments.at(-1));
}

/** The first names of a directory; what the time cuts is not kept. */
async function listNames(
  workspace: Workspace,
  path: WorkspacePath,
  look: Look,
  isOver: IsOver = () => false,
): Promise<Listed> {
  if (look.listed?.workspace === workspace && look.listed.text === path.text) return look.listed;
  const entries: DirectoryEntry[] = [];
  let hasMore = !isOver();
  while (hasMore && entries.length < maxNames) {
    const after = entries.at(-1)?.name;
    const listing = await workspace.list(path, after === undefined ? {} : { after });
    if (!listing.ok || listing.value.entries.length === 0) break;
    for (const entry of listing.value.entries) entries.push(entry);
    hasMore = listing.value.hasMore && !isOver(listing.value.entries.length);
  }
  const listed = { workspace, text: path.text, entries };
  if (!isOver()) look.listed = listed;
  return listed;
}

/** The closest of the words, which are as many as a directory has names. */
async function closestInTurns(word: string, known: readonly string[], isOver: IsOver): Promise<string | null> {
  const closest: string[] = [];
  for (let from = 0; from < known.length && !isOver(namesPerTurn); from += namesPerTurn) {
    const found = closestWord(word, known.slice(from, from + namesPerTurn));
    if (found !== null) closest.push(found);
    await nextTurn();
  }
  return closestWord(word, closest);
}

/** The names that the caller may learn: the same but for case, Unicode form and dashes; else with another suffix; else with a typing mistake or two. */
async function nearNames(
  workspace: Workspace,
  directory: WorkspacePath,
  name: string,
  { look, isOver }: Looking,
): Promise<readonly string[]> {
  const wanted = fold(name);
  const listed = await listNames(workspace, directory, look, isOver);
  const known = listed.known ?? await knownNames(directory, listed.entries, isOver);
  if (!isOver()) listed.known = known;
  const those = (isNear: (folded: string) => boolean): string[] =>
    known.filter((each) => isNear(each.folded)).map((each) => each.name).slice(0, maxSuggestions);
  const same = those((each) => each === wanted);
  if (same.length > 0) return same;
  const otherSuffix = those((each) => stem(each) === stem(wanted));
  if (otherSuffix.length > 0) return otherSuffix;
  const folded = known.map((each) => each.folded);
  for (const words of [folded.filter((each) => digitsOf(each) === digitsOf(wanted)), folded]) {
    const closest = await closestInTurns(stem(wanted), words.map(stem), isOver);
    if (closest !== null) return those((each) => stem(each) === closest && words.includes(each));
  }
  return [];
}

async function knownNames(directory: WorkspacePath, entries: readonly DirectoryEntry[], isOver: IsOver) {
  const known: KnownName[] = [];
  for (const [at, { name }] of entries.entries()) {
    if (at % namesPerTurn === 0) await nextTurn();
    if (isOver(1)) break;
    if (await maySuggestPath(entryPath(directory, name).text)) known.push({ name, folded: fold(name) });
  }
  return known;
}

/** Where else entries have the path's last name; those first that share most of what leads to it. */
async function namesakes(
  workspace: Workspace,
  segments: readonly string[],
  { look, isOver }: Looking,
): Promise<readonly string[]> {
  const wanted = segments.map(fold);
  const found: { readonly text: string; readonly shared: number }[] = [];
  const { met } = look;
  look.walking ??= namesOfTree(workspace);
  for (let at = 0; found.length < maxNamesakes && !isOver(1); at++) {
    if (at === met.length) {
      const next = await look.walking.next();
      if (next.done) break;
      met.push(next.value);
    } else if (at % namesPerTurn === 0) await nextTurn();
    const there = met[at] ?? [];
    const shared = sharedEnd(there, wanted);
    if (shared > 0 && await maySuggestPath(there.join("/"))) found.push({ text: there.join("/"), shared });
  }
  return found.sort((a, b) => b.shared - a.shared).slice(0, maxSuggestions).map(({ text }) => text);
}

/** The names that lead to each entry of the tree that the caller may learn, as many as are visited. */
async function* namesOfTree(workspace: Workspace): AsyncGenerator<readonly string[]> {
  let visits = 0;
  const rules = await createIgnored(workspace, rootPath);
  const ignored = {
    ...rules,
    skips: (names: readonly string[], isDirectory: boolean): boolean =>
      (isDirectory && !maySuggestPlace([...names, anyName].join("/"))) || rules.skips(names, isDirectory),
  };
  for await (const step of walk(workspace, rootPath, { depth: maxDepth, ignored })) {
    if (!step.ok || ++visits > maxVisits) return;
    if (!step.value.isSkipped) yield step.value.segments;
  }
}

/** How many of the last names are those of `wanted`, which are folded. */
function sharedEnd(names: readonly string[], wanted: readonly string[]): number {
  let count = 0;
  while (count < names.length && count < wanted.length && fold(names.at(-1 - count) ?? "") === wanted.at(-1 - count)) {
    count++;
  }
  return count;
}

function fold(name: string): string {
  return foldName(name).replace(/\p{Pd}/gu, "-");
}

function digitsOf(name: string): string {
  return name.replace(/\D/g, "");
}

/** The name without its suffix. */
function stem(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}
