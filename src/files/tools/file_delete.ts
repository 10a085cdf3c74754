/** The tool `file_delete`. */
import * as z from "zod";
import { lazyObject } from "../../lib/lazy_object.ts";
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from "../../mcp/mod.ts";
import { type Workspace, type WorkspaceSource } from "../workspace/port.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { machineFaultWords } from "../../lib/system_fault.ts";
import { leastReadingMs } from "../../lib/time.ts";
import { parseDirectoryPath, showName, toPathText, type WorkspacePath } from "../workspace/path.ts";
import { walk } from "../workspace/walk.ts";
import { toolFrames } from "./argument_names.ts";
import {
  allOrNone,
  batchFailure,
  beginChange,
  type Changing,
  effectsOf,
  maxNamed,
  maxPaths,
  ofPath,
  onlyOneVersion,
  presentState,
  refuseEmptyVersion,
  versionFault,
} from "./batch.ts";
import { count, ifVersionInput, textAnswer, toTimestamp } from "./input.ts";
import { beginLook, findPath, inStoredForm, isLink, parseEntryPath, suggestNear } from "./near_names.ts";
import { type Failure, toFailure } from "./refusal.ts";

/** A directory with more entries is asked about first, where the client can ask. */
const maxUnaskedEntries = 100;

const input = lazyObject(() => ({
  path: z.string().optional().describe("What to delete"),
  paths: z.array(z.string().meta({ written: "range" })).max(maxPaths).optional().describe(
    "Or several, all or none",
  ),
  recursive: z.boolean().default(false).describe("A directory with all that is in it"),
  if_version: ifVersionInput().meta({ unlisted: true }),
}));

interface FileDeleteOptions {
  /** Whether what is deleted goes to the trash. */
  readonly isKept?: boolean;
  /** Milliseconds; only differences are used. */
  readonly clock?: () => number;
  /** Runs what works on files, when the caller has a place for that; a person is waited for without one. */
  readonly inPlace?: <T>(
    context: ToolContext,
    work: () => Promise<Result<T, ToolOutcome>>,
  ) => Result<T, ToolOutcome> | Promise<Result<T, ToolOutcome>>;
}

/** The tool that `app` registers to delete entries. It asks a person before it deletes a large directory. */
export function fileDeleteTool(
  source: WorkspaceSource,
  { isKept = true, clock = () => performance.now(), inPlace = (_, work) => work() }: FileDeleteOptions = {},
): Tool {
  return defineTool({
    ...toolFrames.delete,
    description: "Deletes a file, a link (not its target) or a directory. " +
      (isKept ? "file_undo undoes it." : "It cannot be undone."),
    input,
    output: lazyObject(() => ({
      path: z.string().optional().describe("The path that was deleted"),
      paths: z.array(z.string()).optional(),
      deleted_entries: z.int().describe("How many files, links and directories were deleted"),
      undo_until: z.string().optional().describe("Until when it can be undone, unless room is short before"),
    })),
    preview: (input, context) => previewDelete(source, input, context),
    async run(input, context) {
      const changing = beginChange(source, context, "file_delete");
      const planned = await inPlace(context, () => plan(changing.workspace, input));
      if (!planned.ok) return planned.error;
      const paths = planned.value;
      const declined = input.recursive ? await askFirst(changing.workspace, paths, { context, isKept, clock }) : null;
      if (declined !== null) return declined;
      const isOne = (input.paths ?? []).length + (input.path === undefined ? 0 : 1) === 1;
      const removed = await inPlace(context, () => removeAll(changing, paths, { isOne, recursive: input.recursive }));
      if (!removed.ok) return removed.error;
      const entries = removed.value.reduce((sum, each) => sum + each, 0);
      const until = await keptUntil(changing);
      const undo = until === null ? "" : `; can be undone with file_undo until ${until.slice(0, 16)}Z`;
      const shown = paths.map(({ text }) => showName(text)).join(", ");
      return textAnswer(
        `Deleted ${shown}${entries === paths.length ? "" : ` (${count(entries, "entry", "entries")})`}${undo}`,
        {
          ...isOne ? { path: toPathText(paths[0]?.text ?? "") } : { paths: paths.map(({ text }) => toPathText(text)) },
          deleted_entries: entries,
          ...until === null ? {} : { undo_until: until },
        },
      );
    },
  });
}

/** What is to be deleted, or why nothing of it is. */
async function plan(
  workspace: Workspace,
  { path: one, paths: given = [], recursive, if_version: ifVersion }: z.output<typeof input>,
): Promise<Result<readonly WorkspacePath[], ToolOutcome>> {
  const texts = one === undefined ? given : [one, ...given];
  const empty = await refuseEmptyVersion(workspace, "delete", [{ path: texts[0], version: ifVersion }]);
  if (empty !== null) return failure(empty);
  const obstacles: Failure[] = [];
  const look = beginLook();
  const found = new Map<string, WorkspacePath>();
  for (const text of texts.length === 0 ? [""] : texts) {
    const ownLook = obstacles.length < maxNamed ? look : null;
    const path = await findPath(workspace, "path", text, { parse: parseEntryPath, look: ownLook });
    if (path.ok) found.set(path.value.text, path.value);
    else obstacles.push(texts.length > 1 ? ofPath(text, path.error) : path.error);
  }
  if (ifVersion !== undefined && texts.length > 1) return failure(onlyOneVersion("delete"));
  const paths = [...found.values()].filter(({ segments }) =>
    !segments.some((_, depth) => depth > 0 && found.has(segments.slice(0, depth).join("/")))
  );
  /** What would stop one of several deletions, found before the first; a single deletion reports it itself. */
  const obstacleOf = async (path: WorkspacePath): Promise<Failure | null> => {
    const ownLook = obstacles.length < maxNamed ? look : null;
    const other = await versionFault(workspace, "delete", path, ifVersion, { look: ownLook });
    if (other !== null || texts.length === 1) return other;
    if (path.segments.length === 0) return toFailure("delete", path, { reason: "is_root" });
    const there = await workspace.stat(path);
    if (there.ok && there.value.kind === "directory" && !recursive && !await isLink(workspace, path, look)) {
      const listed = await workspace.list(path, { limit: 1 });
      return listed.ok && listed.value.entries.length > 0 ? toFailure("delete", path, { reason: "not_empty" }) : null;
    }
    if (there.ok || there.error.reason !== "not_found" || await isLink(workspace, path, look)) return null;
    const failed = toFailure("delete", path, there.error);
    return ownLook === null ? failed : await suggestNear(workspace, path, failed, { look });
  };
  for (const path of paths) {
    const refused = await obstacleOf(path);
    if (refused !== null) obstacles.push(refused);
  }
  const [first] = obstacles;
  return first === undefined ? success(paths) : failure(texts.length > 1 ? batchFailure(obstacles) : first);
}

function removeAll(
  changing: Changing,
  paths: readonly WorkspacePath[],
  { isOne, recursive }: { readonly isOne: boolean; readonly recursive: boolean },
): Promise<Result<readonly number[], Failure>> {
  const { workspace } = changing;
  return allOrNone(changing, paths.map((path) => ({ path })), {
    isOne,
    endsAtFirst: true, // a tree that is too large for the trash does not come back
    async make({ path }) {
      const removed = await workspace.remove(path, { recursive });
      if (removed.ok) return success(removed.value.entries);
      return failure([await suggestNear(workspace, path, toFailure("delete", path, removed.error))]);
    },
  });
}

/** `null` where the deletion may go on: it is small, the client cannot ask, no person answers, or it is yes. */
async function askFirst(
  workspace: Workspace,
  paths: readonly WorkspacePath[],
  { context, isKept, clock }: Required<Omit<FileDeleteOptions, "inPlace">> & { readonly context: ToolContext },
): Promise<ToolOutcome | null> {
  if (!context.supports("elicitation") || !await isLarge(workspace, paths)) return null;
  const [one, ...others] = paths.map(({ text }) => showName(text));
  const [what, them] = others.length === 0 ? [`the directory ${one}`, "it"] : [`${paths.length} paths`, "them"];
  const message = `Delete ${what}, with more than ${maxUnaskedEntries} entries in ${them}?`;
  const askedAt = clock();
  const asked = await context.ask({
    confirm: { method: "elicitation/create", params: { message, requestedSchema: { type: "object", properties: {} } } },
  });
  context.signal.throwIfAborted(); // the caller is gone, and so is the question
  if (!asked.ok || asked.value.confirm.action === "accept") return null;
  // what is in the trash is not lost because an agent has no person to ask
  if (isKept && clock() - askedAt < leastReadingMs) return null;
  return {
    ok: false,
    code: "declined",
    message: `The user did not agree to delete ${paths.map(({ text }) => showName(text)).join(", ")}`,
  };
}

async function isLarge(workspace: Workspace, paths: readonly WorkspacePath[]): Promise<boolean> {
  let entries = 0;
  for (const path of paths) {
    for await (const entry of walk(workspace, path, { depth: Infinity })) {
      if (!entry.ok) break; // it is no directory, or the deletion says why
      if (++entries > maxUnaskedEntries) return true;
    }
  }
  return false;
}

/** `null` where nothing is kept of it. */
async function keptUntil({ workspace: { trash }, change: id }: Changing): Promise<string | null> {
  try {
    const change = trash === null || id === null ? null : await trash.find(id);
    const isKept = change?.steps.every(({ step }) =>
      step.op === "remove" && (step.kept !== null || step.empty === true)
    );
    return trash === null || !change || !isKept ? null : toTimestamp(change.at + trash.keepMs);
  } catch (error) {
    if (machineFaultWords(error) === null) throw error;
    return null; // it is deleted all the same
  }
}

/** Entries that a preview names. */
const maxListedEntries = 200;
/** Entries that are counted. */
const maxCountedEntries = 20_000;

/** What a `file_delete` would take away. */
export async function previewDelete(
  source: WorkspaceSource,
  { path: one, paths = [], recursive }: Pick<z.output<typeof input>, "path" | "paths" | "recursive">,
  { principal }: ToolContext,
): Promise<string> {
  const workspace = source(principal);
  return await effectsOf(one === undefined ? paths : [one, ...paths], "Deletes", async (text, look) => {
    const parsed = parseDirectoryPath(text);
    if (!parsed.ok) return `Deletes ${showName(text)}`;
    const path = await inStoredForm(workspace, parsed.value, look);
    if (await isLink(workspace, path, look)) return `Deletes the link ${showName(path.text)}`;
    const head = `Deletes ${showName(path.text)}`;
    const there = await workspace.stat(path);
    if (!there.ok && there.error.reason === "not_found") return `${head}: nothing is there, so the call fails`;
    if (there.ok && there.value.kind === "directory" && !recursive) return `${head}, if the directory is empty`;
    if (!recursive) return `${head} (${(await presentState(workspace, path)).what})`;
    const lines: string[] = [];
    let entries = 0;
    for await (const entry of walk(workspace, path, { depth: Infinity })) {
      if (!entry.ok || ++entries >= maxCountedEntries) break;
      if (lines.length < maxListedEntries) lines.push(`- ${entry.value.segments.map(showName).join("/")}`);
    }
    const others = entries - lines.length;
    const more = others > 0 ? `\n... and ${others}${entries >= maxCountedEntries ? " or more" : ""} more` : "";
    return entries === 0 ? head : `${head} with ${count(entries, "entry", "entries")}:\n${lines.join("\n")}${more}`;
  });
}
