/** What a tree holds, for `file_list`: files, bytes and lines, by extension. */
import type { ToolOutcome } from "../../mcp/mod.ts";
import { showName, toPathText } from "../workspace/file_display.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";
import { type WideEncoding, wideEncoding } from "../workspace/encoding.ts";
import { nextTurn } from "../../lib/turns.ts";
import { count } from "./input.ts";
import { fitPage, toSize, type TreeListing, visitWanted, wholeTreeAnswer } from "./list_walk.ts";
import { toFailure } from "./refusal.ts";
import { createDigest } from "../../lib/secrets.ts";
import type { WalkedEntry } from "../workspace/walk.ts";

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
export async function summarize(listing: TreeListing): Promise<ToolOutcome> {
  const { workspace, path, isOver, isFlat, modifiedAfter } = listing;
  const byExtension = new Map<string, Total>();
  const unread: string[] = [];
  const all: Total = { files: 0, sizeBytes: 0, lines: 0 };
  const buffer = new Uint8Array(readBytes);
  let directories = 0;
  const visited = await visitWanted(listing, async ({ kind, path, segments, sizeBytes = 0 }) => {
    if (kind === "directory") directories++;
    if (kind !== "file") return;
    const lines = isOver() ? 0 : await countLines(workspace, path, buffer, isOver);
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
  const cut = visited.value ?? (isOver() ? { mostly: null } : null);
  const isCut = cut !== null;
  const extensions = [...byExtension].sort(([, one], [, other]) => other.sizeBytes - one.sizeBytes);
  // where not all was looked at, a count of lines would be read as that of the tree
  const linesOf = ({ lines }: Total): string => isCut ? "" : `, ${count(lines, "line")}`;
  // the listed directories do not hold some of the files
  const place = isFlat || modifiedAfter !== null ? "" : ` in ${count(directories, "directory", "directories")}`;
  const factOf = ({ lines }: Total): { lines?: number } => isCut ? {} : { lines };
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
      ...(isCut ? ["(lines were not counted)"] : leftOut("lines not counted", unread)),
    ],
    facts: {
      files: all.files,
      directories,
      size_bytes: all.sizeBytes,
      ...factOf(all),
      extensions: extensions.slice(0, maxExtensions).map(([extension, total]) => ({
        extension,
        files: total.files,
        size_bytes: total.sizeBytes,
        ...factOf(total),
      })),
    },
    cut,
  });
}

/** The notice of files that were left out, such as those with several names (hard links); none of none. */
function leftOut(what: string, names: readonly string[], why = "since they cannot be read"): readonly string[] {
  if (names.length === 0) return [];
  const more = names.length - maxUnreadNames;
  const shown = names.slice(0, maxUnreadNames).map(showName).join(", ");
  return [`(${what}, ${why}: ${count(names.length, "file")}: ${shown}${more > 0 ? ", ..." : ""})`];
}

/** Line ends, and a last line without one; 0 for what is binary, `null` for what cannot be read. */
async function countLines(
  workspace: Workspace,
  path: WorkspacePath,
  buffer: Uint8Array,
  isOver: () => boolean,
): Promise<number | null> {
  let lines = 0;
  let offsetBytes = 0;
  let isEnded = true;
  let encoding: WideEncoding | null = null;
  for (;;) {
    const read = await workspace.readInto(path, buffer, offsetBytes);
    if (!read.ok) return null;
    const part = buffer.subarray(0, read.value.lengthBytes);
    if (offsetBytes === 0) encoding = wideEncoding(part);
    if (offsetBytes === 0 && encoding === null && part.subarray(0, sniffedBytes).includes(0)) return 0;
    if (part.byteLength > 0) isEnded = false;
    for (let at = part.indexOf(newline); at !== -1; at = part.indexOf(newline, at + 1)) {
      // in UTF-16 a line ends in two bytes, and other characters have one of them
      if (encoding !== null && (part[at ^ 1] !== 0 || (at & 1) !== (encoding === "utf-16be" ? 1 : 0))) continue;
      lines++;
      isEnded = (encoding === null ? at : at | 1) === part.byteLength - 1;
    }
    offsetBytes += part.byteLength;
    if (part.byteLength === 0 || offsetBytes >= read.value.sizeBytes || isOver()) break;
  }
  return isEnded ? lines : lines + 1;
}

/** Files that are held to be compared. */
const maxFiles = 50_000;
/** Finds files of the same content; empty ones are not told. */
export async function listDuplicates(listing: TreeListing): Promise<ToolOutcome> {
  const { workspace, path, limit, isOver } = listing;
  const files: WalkedEntry[] = [];
  let isFull = false;
  const visited = await visitWanted(listing, (entry) => {
    if (entry.kind !== "file" || (entry.sizeBytes ?? 0) === 0) return;
    if (files.length < maxFiles) files.push(entry);
    else isFull = true;
  });
  if (!visited.ok) return toFailure("list directory", path, visited.error);
  let cut = visited.value ?? (isFull ? { mostly: null } : null);
  const buffer = new Uint8Array(readBytes);
  const unread: string[] = [];
  const late: string[] = [];
  const groups: { readonly sizeBytes: number; readonly names: readonly string[] }[] = [];
  for (const [sizeBytes, sameSize] of Map.groupBy(files, ({ sizeBytes }) => sizeBytes ?? 0)) {
    if (sameSize.length < 2) continue;
    const byContent = new Map<string, WalkedEntry[]>();
    for (const entry of sameSize) {
      if (isOver()) {
        cut ??= { mostly: null };
        late.push(entry.segments.join("/"));
        continue;
      }
      const hash = await hashFile(workspace, entry.path, { buffer, isOver });
      if (hash === null) {
        (isOver() ? late : unread).push(entry.segments.join("/"));
        if (isOver()) cut ??= { mostly: null };
        continue;
      }
      const same = byContent.get(hash);
      if (same === undefined) byContent.set(hash, [entry]);
      else same.push(entry);
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
        late.length + unread.length === 0
          ? `(${count(files.length, "file")}, none equal to another)`
          : "(no equal files found)",
      ]),
      ...(lines.length < groups.length ? [`(the first ${lines.length} of ${count(groups.length, "group")})`] : []),
      ...leftOut("not compared", unread),
      ...leftOut("not compared", late, "for lack of time"),
    ],
    facts: {
      duplicates: groups.slice(0, lines.length).map(({ sizeBytes, names }) => ({
        size_bytes: sizeBytes,
        names: names.map(toPathText),
      })),
    },
    total: groups.length,
    cut,
  });
}

/** SHA-256 of a file; `null` when it cannot be read, or not in time. */
async function hashFile(
  workspace: Workspace,
  path: WorkspacePath,
  { buffer, isOver }: {
    readonly buffer: Uint8Array;
    readonly isOver: () => boolean;
  },
): Promise<string | null> {
  const digest = createDigest();
  let offsetBytes = 0;
  for (;;) {
    const read = await workspace.readInto(path, buffer, offsetBytes);
    if (!read.ok || isOver()) return null;
    await nextTurn();
    digest.update(buffer.subarray(0, read.value.lengthBytes));
    offsetBytes += read.value.lengthBytes;
    if (read.value.lengthBytes === 0 || offsetBytes >= read.value.sizeBytes) return digest.digest("hex");
  }
}
