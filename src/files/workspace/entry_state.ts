/** What is at a path, for a decision that is about this and nothing else: of a directory all that is in it. */
import { counted } from "../../lib/result.ts";
import { createDigest } from "../../lib/secrets.ts";
import type { WorkspacePath } from "./path.ts";
import type { Workspace } from "./port.ts";
import { maxWalkDepth, walk } from "./walk.ts";

/** Entries of a directory that are looked at. */
const maxHeldEntries = 10_000;
/** As the file tools show versions. */
const shownCharacters = 12;

/** What is at a path, as an approval compares it between the decision and the run. */
export interface EntryState {
  /** For people. */
  readonly words: string;
  /** Differs whenever the entry does; empty where nothing can differ but the words, `null` where it is too much to compare. */
  readonly version: string | null;
}

/** `isWhole`: with what is in a directory. */
export async function stateOf(workspace: Workspace, path: WorkspacePath, isWhole: boolean): Promise<EntryState> {
  const there = await workspace.stat(path);
  const to = linkOf(workspace, path);
  if (!there.ok) {
    const { reason } = there.error;
    const words = reason === "not_found" ? "nothing is there" : `cannot be looked at (${reason})`;
    return { words: `${words}${to}`, version: "" };
  }
  const { kind, sizeBytes } = there.value;
  if (kind === "file") return versioned(counted(sizeBytes, "byte"), to, await contentOf(workspace, path));
  if (kind !== "directory" || !isWhole) {
    return { words: `a ${kind === "other" ? "special file" : kind}${to}`, version: "" };
  }
  const tooMuch = (words: string) => ({ words: `a directory ${words} to compare`, version: null });
  const digest = createDigest();
  let entries = 0;
  for await (const step of walk(workspace, path, { depth: maxWalkDepth, details: true })) {
    if (!step.ok) return { words: `a directory that cannot be listed (${step.error.reason})`, version: "" };
    if (++entries > maxHeldEntries) return tooMuch(`with more than ${maxHeldEntries} entries, too many`);
    const { path: at, segments, kind: of } = step.value;
    const isDeepest = of === "directory" && segments.length === maxWalkDepth;
    if (isDeepest) return tooMuch(`of more than ${maxWalkDepth} levels, too deep`);
    const version = of === "file" ? await stampOf(workspace, at) : of === "link" ? linkOf(workspace, at) : "";
    digest.update(`${JSON.stringify([of, segments, version])}\n`);
  }
  return versioned(`a directory with ${entries} ${entries === 1 ? "entry" : "entries"}`, to, digest.digest("hex"));
}

function versioned(words: string, to: string, version: string): EntryState {
  return { words: `${words}, version ${version.slice(0, shownCharacters)}${to}`, version };
}

/** The digest of what one read takes whole, as the file tools have it. */
async function contentOf(workspace: Workspace, path: WorkspacePath): Promise<string> {
  const read = await workspace.read(path);
  return read.ok && read.value.sha256 !== null ? read.value.sha256 : await stampOf(workspace, path);
}

async function stampOf(workspace: Workspace, path: WorkspacePath): Promise<string> {
  const read = await workspace.read(path, { offsetBytes: 0, lengthBytes: 0 });
  return read.ok ? read.value.version : read.error.reason;
}

function linkOf(workspace: Workspace, path: WorkspacePath): string {
  const names = workspace.trueNames(path);
  const others = names.ok ? names.value.filter((name) => name !== path.text) : [];
  return others.length === 0 ? "" : `, leads to ${others.join(", ")}`;
}
