/** What a change would do, for the person who decides about it: differences, and lists of what would go. */
import { nextTurn } from "../../lib/turns.ts";
import { childPath, parseDirectoryPath, parseFilePath, showName, showText } from "../workspace/path.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import { type Workspace, workspaceOf, type WorkspaceSource } from "../workspace/port.ts";
import type { ToolContext } from "../../mcp/mod.ts";
import { differenceOf } from "../text/diff.ts";
import { decodeText } from "../text/detect.ts";
import { inFormOf, storedFormOf } from "../text/edit.ts";
import { walk } from "../workspace/walk.ts";
import { count, toVersion } from "./input.ts";
import { beginLook, inStoredForm, isLink, type Look } from "./near_names.ts";

/**
 * The path itself. As for `mv` and `cp`, a slash at its end means the directory that is there, and for a file one that is
 * made: what is moved keeps its name in it.
 */
export async function destinationOf(
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

const maxListedEntries = 200;
/** Entries that are counted. */
const maxCountedEntries = 20_000;

interface WrittenText {
  readonly filename: string;
  readonly content?: string | undefined;
  readonly mode?: "overwrite" | "create" | "append" | undefined;
}

/** The differences that a `file_write` would make. */
export async function previewWrite(
  source: WorkspaceSource,
  { files = [], link, ...first }: WrittenText & {
    readonly files?: readonly WrittenText[] | undefined;
    readonly link?: boolean | undefined;
  },
  context: ToolContext,
): Promise<string> {
  if (link) return `Lets the client upload ${showName(first.filename)} by a link`;
  const workspace = workspaceOf(source, context.principal);
  return await effectsOf([first, ...files], "Writes", async ({ filename, content = "", mode = first.mode }, look) => {
    const parsed = parseFilePath(filename);
    if (!parsed.ok) return null; // the call is refused for it
    const path = await inStoredForm(workspace, parsed.value, look);
    const { text, what } = await stateOf(workspace, path);
    const appends = mode === "append";
    const stored = mode === "create" ? null : await storedFormOf(workspace, path, false);
    const { text: written } = inFormOf(stored, content, { isAdded: appends });
    const difference = showText(await differenceOf(text, appends ? text + written : written, context));
    return `${appends ? "Appends to" : "Writes"} ${showName(path.text)} (${what}):\n${difference}`;
  });
}

/** One effect, or several below a line that counts them. */
async function effectsOf<Each>(
  all: readonly Each[],
  verb: string,
  effectOf: (each: Each, look: Look) => Promise<string | null>,
): Promise<string> {
  const effects: string[] = [];
  const look = beginLook();
  for (const each of all) {
    await nextTurn();
    const effect = await effectOf(each, look);
    if (effect !== null) effects.push(effect);
  }
  return [...effects.length > 1 ? [`${verb} ${effects.length} paths:`] : [], ...effects].join("\n");
}

/** The file as it is. Its version is named, so that an approval is for this content, however long the difference. */
async function stateOf(
  workspace: Workspace,
  path: WorkspacePath,
): Promise<{ readonly text: string; readonly what: string }> {
  const read = await workspace.read(path);
  if (!read.ok) return { text: "", what: read.error.reason === "not_found" ? "a new file" : "it cannot be read" };
  const { bytes, sha256 } = read.value;
  const text = (await decodeText(bytes))?.text;
  const version = sha256 === null ? "" : `, version ${toVersion(sha256)}`;
  return {
    text: text ?? "",
    what: `${text === undefined ? "not a text, " : ""}${count(bytes.byteLength, "byte")} now${version}`,
  };
}

/** One path or several. */
interface Paths {
  readonly path?: string | undefined;
  readonly paths?: readonly string[] | undefined;
}

/** What a `file_delete` would take away. */
export async function previewDelete(
  source: WorkspaceSource,
  { path: one, paths = [], recursive }: Paths & { readonly recursive: boolean },
  { principal }: ToolContext,
): Promise<string> {
  const workspace = workspaceOf(source, principal);
  return await effectsOf(one === undefined ? paths : [one, ...paths], "Deletes", async (text, look) => {
    const parsed = parseDirectoryPath(text);
    if (!parsed.ok) return `Deletes ${showName(text)}`;
    const path = await inStoredForm(workspace, parsed.value, look);
    if (await isLink(workspace, path, look)) return `Deletes the link ${showName(path.text)}`;
    const head = `Deletes ${showName(path.text)}`;
    const there = await workspace.stat(path);
    if (!there.ok && there.error.reason === "not_found") return `${head}: nothing is there, so the call fails`;
    if (there.ok && there.value.kind === "directory" && !recursive) return `${head}, if the directory is empty`;
    if (!recursive) return `${head} (${(await stateOf(workspace, path)).what})`;
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

/** What a `file_move` would do, and whether it replaces something. */
export async function previewMove(
  source: WorkspaceSource,
  { path: one, paths = [], destination, copy }: Paths & { readonly destination: string; readonly copy: boolean },
  { principal }: ToolContext,
): Promise<string> {
  const workspace = workspaceOf(source, principal);
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
      ? `, replacing a file (${(await stateOf(workspace, to)).what})`
      : "";
    return `${verb} ${showName(path)} to ${showName(to.text)}${replaces}`;
  });
}
