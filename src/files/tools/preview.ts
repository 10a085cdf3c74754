/** What a change would do, for the person who decides about it: differences, and lists of what would go. */
import { childPath, parseDirectoryPath, parseFilePath, type WorkspacePath } from "../workspace/path.ts";
import { type Workspace, workspaceOf, type WorkspaceSource } from "../workspace/port.ts";
import type { ToolContext } from "../../mcp/mod.ts";
import { showName, showText } from "../workspace/file_display.ts";
import { differenceOf } from "../text/diff.ts";
import { decodeText } from "../text/detect.ts";
import { maxWalkDepth, walk } from "../workspace/walk.ts";
import { count, toVersion } from "./input.ts";
import { inStoredForm, isLink } from "./near_names.ts";

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

type Mode = "overwrite" | "create" | "append";

interface WriteInput {
  readonly filename: string;
  readonly content?: string | undefined;
  readonly mode: Mode;
  readonly files?:
    | readonly { readonly filename: string; readonly content: string; readonly mode?: Mode | undefined }[]
    | undefined;
  readonly link?: boolean | undefined;
}

/** The differences that a `file_write` would make. */
export async function previewWrite(source: WorkspaceSource, input: WriteInput, context: ToolContext): Promise<string> {
  const { filename, content = "", mode, files = [] } = input;
  if (input.link) return `Lets the client upload ${showName(filename)} by a link`;
  const workspace = workspaceOf(source, context.principal);
  const blocks: string[] = [];
  for (const file of [{ filename, content, mode }, ...files]) {
    const parsed = parseFilePath(file.filename);
    if (!parsed.ok) continue; // the call is refused for it
    const path = await inStoredForm(workspace, parsed.value);
    const { text: before, what } = await stateOf(workspace, path);
    const appends = (file.mode ?? mode) === "append";
    const after = appends ? before + file.content : file.content;
    blocks.push(
      `${appends ? "Appends to" : "Writes"} ${showName(path.text)} (${what}):\n${
        showText(await differenceOf(before, after))
      }`,
    );
  }
  return blocks.join("\n");
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

/** What a `file_delete` would take away. */
export async function previewDelete(
  source: WorkspaceSource,
  { path, paths = [], recursive }: {
    readonly path?: string | undefined;
    readonly paths?: readonly string[] | undefined;
    readonly recursive: boolean;
  },
  context: ToolContext,
): Promise<string> {
  const workspace = workspaceOf(source, context.principal);
  const effects: string[] = [];
  for (const text of path === undefined ? paths : [path, ...paths]) {
    effects.push(await previewDeleteOf(workspace, text, recursive));
  }
  return effects.join("\n");
}

async function previewDeleteOf(workspace: Workspace, text: string, recursive: boolean): Promise<string> {
  const parsed = parseDirectoryPath(text);
  if (!parsed.ok) return `Deletes ${showName(text)}`;
  const path = await inStoredForm(workspace, parsed.value);
  if (await isLink(workspace, path)) return `Deletes the link ${showName(path.text)}`;
  const head = `Deletes ${showName(path.text)}`;
  if (!recursive) return `${head} (${(await stateOf(workspace, path)).what})`;
  const lines: string[] = [];
  let entries = 0;
  for await (const entry of walk(workspace, path, { depth: maxWalkDepth })) {
    if (!entry.ok || ++entries >= maxCountedEntries) break;
    if (lines.length < maxListedEntries) lines.push(`- ${entry.value.segments.map(showName).join("/")}`);
  }
  const others = entries - lines.length;
  const more = others > 0 ? `\n... and ${others}${entries >= maxCountedEntries ? " or more" : ""} more` : "";
  return entries === 0 ? head : `${head} with ${count(entries, "entry", "entries")}:\n${lines.join("\n")}${more}`;
}

/** What a `file_move` would do, and whether it replaces something. */
export async function previewMove(
  source: WorkspaceSource,
  { paths = [], ...input }: {
    readonly path?: string | undefined;
    readonly paths?: readonly string[] | undefined;
    readonly destination: string;
    readonly copy: boolean;
  },
  context: ToolContext,
): Promise<string> {
  if (paths.length === 0) return await previewMoveOf(source, input, context);
  const effects: string[] = [];
  const destination = `${input.destination}/`;
  for (const path of input.path === undefined ? paths : [input.path, ...paths]) {
    const name = path.split("/").filter((each) => each !== "").at(-1) ?? "";
    effects.push(await previewMoveOf(source, { ...input, path, destination: `${destination}${name}` }, context));
  }
  return effects.join("\n");
}

async function previewMoveOf(
  source: WorkspaceSource,
  { path, destination, copy }: {
    readonly path?: string | undefined;
    readonly destination: string;
    readonly copy: boolean;
  },
  context: ToolContext,
): Promise<string> {
  if (path === undefined) return `Makes the directory ${showName(destination)}`;
  const workspace = workspaceOf(source, context.principal);
  const from = parseDirectoryPath(path);
  const given = parseDirectoryPath(destination);
  const verb = copy ? "Copies" : "Moves";
  if (!from.ok || !given.ok) return `${verb} ${showName(path)} to ${showName(destination)}`;
  const to = await destinationOf(workspace, await inStoredForm(workspace, from.value), {
    text: destination,
    path: given.value,
  });
  const there = await workspace.stat(to);
  const replaces = there.ok && there.value.kind === "file"
    ? `, replacing a file (${(await stateOf(workspace, to)).what})`
    : "";
  return `${verb} ${showName(path)} to ${showName(to.text)}${replaces}`;
}
