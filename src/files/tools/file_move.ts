/** The tool `file_move`: moves, renames and copies files and directories, and makes directories. */
import * as z from "zod";
import { lazyObject } from "../../lib/lazy_object.ts";
import { defineTool, emptyIsAbsent, type Tool, type ToolContext, type ToolOutcome } from "../../mcp/mod.ts";
import { childPath, entryPath, parseDirectoryPath, showName, toPathText } from "../workspace/path.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace, WorkspaceSource } from "../workspace/port.ts";
import { otherNamesWords } from "../workspace/change.ts";
import { walk } from "../workspace/walk.ts";
import { failure, success } from "../../lib/result.ts";
import {
  allOrNone,
  batchFailure,
  beginChange,
  type Changing,
  effectsOf,
  endOf,
  maxNamed,
  maxPaths,
  missingAbove,
  ofPath,
  onlyOneVersion,
  presentState,
  refuseEmptyVersion,
  versionFault,
} from "./batch.ts";
import { count, ifVersionInput, textAnswer } from "./input.ts";
import { type Notice, withNotices } from "./list_walk.ts";
import { type Failure, refuse, toFailure, toPairFailure, toPathFailure } from "./refusal.ts";
import { toolFrames } from "./argument_names.ts";
import { beginLook, findPath, inStoredForm, isLink, parseEntryPath, slipOf, suggestNear } from "./near_names.ts";
import type { Look } from "./near_names.ts";

/** The tool that `app` registers to move and copy entries, and to make directories. */
export function fileMoveTool(source: WorkspaceSource): Tool {
  return defineTool({
    ...toolFrames.move,
    description: "Moves, renames or copies a file or directory (mv, cp), or makes a directory (mkdir).",
    input: lazyObject(() => ({
      path: z.string().optional().describe("What to move; absent to make a directory").meta(emptyIsAbsent),
      paths: z.array(z.string().meta({ written: "range" })).max(maxPaths).optional().describe(
        "Or several, into the directory destination, all or none",
      ),
      destination: z.string().describe("New path, name included"),
      copy: z.boolean().default(false).describe("Keep the original"),
      overwrite: z.boolean().default(false).describe("Replace a file that is there"),
      if_version: ifVersionInput().meta({ unlisted: true }),
    })),
    output: lazyObject(() => ({
      path: z.string().optional(),
      paths: z.array(z.string()).optional(),
      destination: z.string(),
      created: z.boolean().optional().describe("Whether a directory is new"),
      files: z.int().optional().describe("Files that were copied"),
      size_bytes: z.int().optional(),
    })),
    preview: (input, context) => previewMove(source, input, context),
    async run({ path, paths = [], destination, copy, overwrite, if_version: ifVersion }, context) {
      const to = parseEntryPath(destination);
      if (!to.ok) return toPathFailure("destination", to.error, destination);
      const changing = beginChange(source, context, "file_move");
      const { workspace } = changing;
      const empty = await refuseEmptyVersion(workspace, "move", [{ path: path ?? paths[0], version: ifVersion }]);
      if (empty !== null) return empty;
      const notices: Notice[] = [];
      const note = ({ text }: WorkspacePath, words: string): void => {
        if (words !== "") notices.push({ words: `${showName(text)}: ${words}`, isRemedy: false });
      };
      const manner = { copy, overwrite, ifVersion, signal: context.signal, note, takeBack: changing.takeBack };
      const texts = path === undefined ? paths : [path, ...paths];
      if (ifVersion !== undefined && texts.length !== 1) return onlyOneVersion("move");
      const slip = await slipOf(workspace, "move", to.value);
      if (slip !== null) return slip;
      if (paths.length > 0) return withNotices(await moveSeveral(changing, texts, to.value, manner), notices);
      if (path === undefined) return await makeDirectory(workspace, to.value);
      const from = await findPath(workspace, "path", path, { parse: parseEntryPath });
      if (!from.ok) return from.error;
      const { value: moved } = from;
      const other = await versionFault(workspace, copy ? "copy" : "move", moved, ifVersion);
      if (other !== null) return other;
      const pair = { from: moved, to: await destinationOf(workspace, moved, { text: destination, path: to.value }) };
      const astray = await followLinks(workspace, [pair], manner);
      return withNotices(await moveOne(workspace, pair, manner), [...notices, ...astray()]);
    },
  });
}

interface Manner extends Pick<Changing, "takeBack"> {
  readonly copy: boolean;
  readonly overwrite: boolean;
  readonly ifVersion: string | undefined;
  readonly signal: AbortSignal;
  /** What else there is to say of an entry; an empty text is nothing. */
  readonly note: (path: WorkspacePath, words: string) => void;
}

async function moveOne(workspace: Workspace, pair: Pair, manner: Manner): Promise<ToolOutcome> {
  const outcome = await (manner.copy ? copyEntry : moveEntry)(workspace, pair, manner);
  return await suggestNear(workspace, pair.from, await suggestInside(workspace, pair, outcome));
}

/** Moves or copies entries into a directory, each under its own name: all of them, or none. */
async function moveSeveral(
  changing: Changing,
  texts: readonly string[],
  directory: WorkspacePath,
  manner: Manner,
): Promise<ToolOutcome> {
  const { workspace } = changing;
  const action = manner.copy ? "copy" : "move";
  const obstacles: Failure[] = [];
  const look = beginLook();
  const pairs = new Map<string, Pair>();
  const there = await workspace.stat(directory);
  if (there.ok && there.value.kind !== "directory") {
    obstacles.push(toFailure(action, directory, { reason: "not_a_directory" }));
  }
  for (const text of texts) {
    const isNamed = obstacles.length < maxNamed;
    const found = await findPath(workspace, "path", text, { parse: parseEntryPath, look: isNamed ? look : null });
    if (!found.ok) {
      obstacles.push(ofPath(text, found.error));
      continue;
    }
    const from = found.value;
    const pair = { from, to: childPath(directory, from.segments.slice(-1)) };
    const outer = manner.copy
      ? undefined
      : pairs.values().find(({ from: other }) => other.text !== from.text && isWithin(from, other));
    const obstacle = outer === undefined
      ? await obstacleOf(workspace, pair, { action, ...manner, isNamed, look })
      : refuse(action, `${showName(from.text)} moves with ${showName(outer.from.text)}, which it is in; leave it out`);
    if (obstacle !== null) obstacles.push(obstacle);
    else if (pairs.has(pair.to.text) && pairs.get(pair.to.text)?.from.text !== from.text) {
      obstacles.push(toPairFailure(action, pair, { reason: "already_exists", about: "to" }));
    } else pairs.set(pair.to.text, pair);
  }
  if (obstacles.length > 0) return batchFailure(obstacles);
  const astray = await followLinks(workspace, [...pairs.values()], manner);
  const items = [...pairs.values()].map((pair) => ({ path: pair.from, pair }));
  const moved = await allOrNone(changing, items, {
    isOne: false,
    endsAtFirst: true, // without a trash nothing is put back
    async make({ path, pair }) {
      const outcome = await moveOne(workspace, pair, manner);
      return outcome.ok ? success(showName(path.text)) : failure([outcome]);
    },
  });
  if (!moved.ok) return moved.error;
  const text = `${manner.copy ? "Copied" : "Moved"} ${moved.value.join(", ")} into ${showName(directory.text)}/`;
  return withNotices(
    textAnswer(text, {
      paths: Array.from(pairs.values(), ({ from }) => toPathText(from.text)),
      destination: toPathText(directory.text),
    }),
    astray(),
  );
}

/** What would stop one of several moves, found before the first. */
async function obstacleOf(
  workspace: Workspace,
  { from, to }: Pair,
  { action, overwrite, ifVersion, isNamed, look }: Omit<Manner, "copy"> & {
    readonly action: string;
    readonly isNamed: boolean;
    readonly look: Look;
  },
): Promise<Failure | null> {
  if (from.segments.length === 0) return toFailure(action, from, { reason: "is_root" });
  const other = await versionFault(workspace, action, from, ifVersion, { look: isNamed ? look : null });
  if (other !== null) return other;
  const source = await workspace.stat(from);
  if (!source.ok && !(source.error.reason === "not_found" && await isLink(workspace, from, look))) {
    const failed = toFailure(action, from, source.error);
    return isNamed ? await suggestNear(workspace, from, failed, { look }) : failed;
  }
  if (source.ok && source.value.kind === "directory" && isWithin(to, from)) {
    return toPairFailure(action, { from, to }, { reason: "into_itself", about: "both" });
  }
  const target = await workspace.stat(to);
  const isReplaced = overwrite && target.ok && target.value.kind === "file";
  return target.ok && !isReplaced
    ? toPairFailure(action, { from, to }, { reason: "already_exists", about: "to" })
    : null;
}

/** Whether the path is the other one, or lies below it. */
function isWithin({ segments }: WorkspacePath, other: WorkspacePath): boolean {
  return other.segments.every((name, index) => segments[index] === name);
}

interface Pair {
  readonly from: WorkspacePath;
  readonly to: WorkspacePath;
}

/** Names the path in the directory that is at the destination, which is what `mv` and `cp` would have taken. */
async function suggestInside(workspace: Workspace, { from, to }: Pair, outcome: ToolOutcome): Promise<ToolOutcome> {
  const name = from.segments.at(-1);
  if (outcome.ok || name === undefined) return outcome;
  if (!["already_exists", "is_directory", "is_root"].includes(outcome.code)) return outcome;
  if (entryPath(to, name).text === from.text) return outcome; // it is in this directory
  const there = await workspace.stat(to);
  if (!there.ok || there.value.kind !== "directory") return outcome;
  return { ...outcome, message: `${outcome.message}; did you mean ${showName(entryPath(to, name).text)}?` };
}

async function moveEntry(
  workspace: Workspace,
  { from, to }: Pair,
  { overwrite, note, takeBack }: Manner,
): Promise<ToolOutcome> {
  const moved = await workspace.move(from, to, { overwrite });
  if (!moved.ok) {
    const failed = toPairFailure("move", { from, to }, moved.error);
    if (moved.error.isCopied !== true || await takeBack()) return failed;
    const message = `${failed.message}; ${showName(to.text)} is a copy of it now`;
    return { ...failed, message, code: "move_incomplete" };
  }
  note(to, otherNamesWords(moved.value.otherNames));
  return pairAnswer(`Moved ${showName(from.text)} to ${showName(to.text)}`, { from, to });
}

function pairAnswer(text: string, { from, to }: Pair, facts: Readonly<Record<string, unknown>> = {}): ToolOutcome {
  return textAnswer(text, { path: toPathText(from.text), destination: toPathText(to.text), ...facts });
}

/** Entries that are looked at for links before a move. */
const maxLinkLooks = 20_000;
const maxNamedLinks = 5;

/** Looks at the links in what is to be moved; once it was, the result says which lead elsewhere than before. */
async function followLinks(
  workspace: Workspace,
  pairs: readonly Pair[],
  { copy }: Pick<Manner, "copy">,
): Promise<() => readonly Notice[]> {
  if (copy || workspace.directories === undefined) return () => []; // links are not copied, and storage has none
  const links: { readonly to: WorkspacePath; readonly before: string }[] = [];
  const places = pairs.map(({ from, to }) => ({ base: endOf(workspace, from, "kept"), to }));
  const look = beginLook();
  let visited = 0;
  const add = async (path: WorkspacePath, to: WorkspacePath): Promise<void> => {
    const before = (await workspace.stat(path)).ok ? endOf(workspace, path, "followed") : null; // what leads to something
    if (before !== null) links.push({ to, before });
  };
  for (const { from, to } of pairs) {
    if (await isLink(workspace, from, look)) {
      await add(from, to);
      continue;
    }
    for await (const step of walk(workspace, from, { depth: Infinity })) {
      if (!step.ok || ++visited > maxLinkLooks) break;
      if (step.value.kind === "link") await add(step.value.path, childPath(to, step.value.segments));
    }
  }
  /** A link into what was moved goes with it. */
  const placeNow = (before: string): string => {
    const place = places.find(({ base }) => before === base || before.startsWith(`${base}/`));
    return place === undefined ? before : `${endOf(workspace, place.to, "kept")}${before.slice(place.base?.length)}`;
  };
  return () => {
    const astray = links.filter(({ to, before }) => endOf(workspace, to, "followed") !== placeNow(before));
    const names = astray.slice(0, maxNamedLinks).map(({ to }) => showName(to.text)).join(", ");
    const more = astray.length > maxNamedLinks ? `, ... (${astray.length})` : "";
    return [
      ...astray.length === 0 ? [] : [`relative links that do not lead where they did: ${names}${more}`],
      ...visited > maxLinkLooks
        ? ["too many entries to say of all links in them whether they lead where they did"]
        : [],
    ].map((words) => ({ words, isRemedy: false }));
  };
}

async function copyEntry(workspace: Workspace, { from, to }: Pair, manner: Manner): Promise<ToolOutcome> {
  const copied = await workspace.copy(from, to, { overwrite: manner.overwrite });
  if (copied.ok) {
    const { sizeBytes, otherNames } = copied.value;
    manner.note(to, otherNamesWords(otherNames));
    const text = `Copied ${showName(from.text)} to ${showName(to.text)} (${count(sizeBytes, "byte")})`;
    return pairAnswer(text, { from, to }, { files: 1, size_bytes: sizeBytes });
  }
  const { reason, about } = copied.error;
  if (reason === "is_directory" && about === "from") return await copyDirectory(workspace, { from, to }, manner);
  return toPairFailure("copy", { from, to }, copied.error);
}

async function makeDirectory(workspace: Workspace, path: WorkspacePath): Promise<ToolOutcome> {
  const made = await workspace.makeDirectory(path);
  if (!made.ok) return toFailure("create directory", path, made.error);
  const { created } = made.value;
  return textAnswer(`${showName(path.text)}/ ${created ? "created" : "is there already"}`, {
    destination: toPathText(path.text),
    created,
  });
}

/** Copies `from` to `to`, where nothing may be yet. Of a copy that cannot be finished nothing stays. */
async function copyDirectory(
  workspace: Workspace,
  { from, to }: Pair,
  { signal, note }: Manner,
): Promise<ToolOutcome> {
  if (isWithin(to, from)) return toPairFailure("copy", { from, to }, { reason: "into_itself", about: "both" });
  const there = await workspace.stat(to);
  if (there.ok) return toPairFailure("copy", { from, to }, { reason: "already_exists", about: "to" });
  const missing = await missingAbove(workspace, to);
  const made = await workspace.makeDirectory(to);
  if (!made.ok) return toFailure("create directory", to, made.error);
  let [files, sizeBytes, leftOut, visited] = [0, 0, 0, 0];
  /** Files that another program put there meanwhile would go, too: they are in the trash, where one is kept. */
  const soFar = async (words: string): Promise<ToolOutcome> => {
    const isGone = (await workspace.remove(to, { recursive: true })).ok;
    for (const directory of isGone ? missing : []) await workspace.remove(directory); // where nothing is in it
    const state = isGone
      ? "nothing was copied"
      : `${count(files, "file")} copied so far, to ${showName(to.text)}, could not be removed`;
    return refuse("copy", `${words}; ${state}`, "copy_incomplete");
  };
  const unread: string[] = [];
  for await (const step of walk(workspace, from, { depth: Infinity, ignored: { unread } })) {
    if (!step.ok) return await soFar(failureWords(toFailure("copy", from, step.error)));
    const { kind, path: source, segments } = step.value;
    const target = childPath(to, segments);
    if (++visited > workspace.limits.maxTreeEntries) return await soFar(`it has more than ${visited - 1} entries`);
    if (signal.aborted) return await soFar("it was cancelled");
    const copied = kind === "file" ? await workspace.copy(source, target) : null;
    const made = kind === "directory" ? await workspace.makeDirectory(target) : null;
    if (copied?.ok) {
      files++;
      sizeBytes += copied.value.sizeBytes;
    } else if (copied === null && made === null) leftOut++;
    const failed = copied?.ok === false
      ? toPairFailure("copy", { from: source, to: target }, copied.error)
      : made?.ok === false
      ? toFailure("create directory", target, made.error)
      : null;
    if (failed !== null) return await soFar(failureWords(failed));
  }
  if (unread.length > 0) {
    return await soFar(`could not look into ${unread.slice(0, maxNamedLinks).map(showName).join(", ")}`);
  }
  if (leftOut > 0) note(from, `${count(leftOut, "link or special file", "links or special files")} left out`);
  const facts = `${count(files, "file")}, ${count(sizeBytes, "byte")}`;
  const text = `Copied ${showName(from.text)}/ to ${showName(to.text)}/ (${facts})`;
  return pairAnswer(text, { from, to }, { files, size_bytes: sizeBytes });
}

function failureWords({ message }: Failure): string {
  return message.replace(/^Failed to copy: /, "");
}

/**
 * The path itself. As for `mv` and `cp`, a slash at its end means the directory that is there, and for a file one that is
 * made: what is moved keeps its name in it.
 */
async function destinationOf(
  workspace: Workspace,
  from: WorkspacePath,
  { text, path }: { readonly text: string; readonly path: WorkspacePath },
): Promise<WorkspacePath> {
  if (!text.endsWith("/")) return path;
  const there = await workspace.stat(path);
  const source = there.ok ? null : await workspace.stat(from);
  const isInto = there.ok ? there.value.kind === "directory" : source?.ok && source.value.kind !== "directory";
  return isInto ? childPath(path, from.segments.slice(-1)) : path;
}

/** What a `file_move` would do, and whether it replaces something. */
export async function previewMove(
  source: WorkspaceSource,
  { path: one, paths = [], destination, copy }: {
    readonly path?: string | undefined;
    readonly paths?: readonly string[] | undefined;
    readonly destination: string;
    readonly copy: boolean;
  },
  { principal }: ToolContext,
): Promise<string> {
  const workspace = source(principal);
  const isInto = paths.length > 0;
  if (one === undefined && !isInto) return `Makes the directory ${showName(destination)}`;
  const verb = copy ? "Copies" : "Moves";
  return await effectsOf(one === undefined ? paths : [one, ...paths], verb, async (path, look) => {
    const from = parseDirectoryPath(path);
    const given = parseDirectoryPath(destination);
    if (!from.ok || !given.ok) return `${verb} ${showName(path)} to ${showName(destination)}`;
    const stored = await inStoredForm(workspace, from.value, look);
    const to = isInto
      ? childPath(given.value, stored.segments.slice(-1))
      : await destinationOf(workspace, stored, { text: destination, path: given.value });
    const there = await workspace.stat(to);
    const replaces = there.ok && there.value.kind === "file"
      ? `, replacing a file (${(await presentState(workspace, to)).what})`
      : "";
    return `${verb} ${showName(path)} to ${showName(to.text)}${replaces}`;
  });
}
