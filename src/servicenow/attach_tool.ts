/** The tool `servicenow_attach`: a workspace file onto a record. */
import * as z from "zod";
import { createParallelShare } from "../lib/parallel_share.ts";
import type { Principal } from "../lib/principal.ts";
import { defineTool, otherNames, type Tool, type ToolContext, type ToolOutcome } from "../mcp/mod.ts";
import { failure, success } from "../lib/result.ts";
import {
  type ArrivingContent,
  beginChange,
  type DenialCause,
  entryPath,
  newNameProblem,
  numberedName,
  type Outcome,
  parseFilePath,
  rootPath,
  showName,
  toFailure,
  toPathFailure,
  type Workspace,
  workspaceOf,
  type WorkspacePath,
  type WorkspaceRefusal,
  type WorkspaceSource,
} from "../files/mod.ts";
import { counted } from "./failure.ts";
import type { AttachmentContent } from "./answers.ts";
import { maxSentBytes } from "./record_files.ts";
import type { ServicenowRecords } from "./servicenow.ts";
import {
  callerOf,
  defineWritingTool,
  dryRunParameter,
  given,
  idParameter,
  optionalTable,
  recordNames,
  toFailureOutcome,
  toTextOutcome,
} from "./outcome_tool.ts";

/** What came of a file, or the tool's failure. */
type Done<T> = Promise<{ readonly ok: true; readonly value: T } | Extract<ToolOutcome, { readonly ok: false }>>;

/** Who changes files, and where the change is noted. */
type Caller = Pick<ToolContext, "principal" | "noteChange">;

/** A file as it was saved. */
interface SavedFile {
  /** Its path in the workspace. */
  readonly name: string;
  readonly sizeBytes: number;
}

/** Files of the user who calls. */
export type AttachmentFiles = ReturnType<typeof workspaceFiles>;

/** The tool that changes files here. */
const savingTool = "servicenow_fetch_attachment";
/** How many names are tried before a free one would have to be chosen by the caller. */
const maxNamesTried = 100;
const maxSuggestionBytes = 120;

/** Files of the workspace that the caller uses. */
export function workspaceFiles(source: WorkspaceSource) {
  const reading =
    <T>(take: (workspace: Workspace, path: WorkspacePath) => Promise<Outcome<T>>) =>
    async (filename: string, principal: Principal): Done<T> => {
      const path = parseFilePath(filename);
      if (!path.ok) return toPathFailure("filename", path.error);
      const taken = await take(workspaceOf(source, principal), path.value);
      return taken.ok ? taken : toFailure("read file", path.value, taken.error);
    };
  return {
    /** How many bytes the file has: {@link maxSentBytes} at most. */
    size: reading(sizeOf),
    read: reading(readWhole),
    /** Creates or replaces the file that the caller names. Throws what `pieces` throws, and has written nothing then. */
    async write(filename: string, pieces: ArrivingContent, caller: Caller): Done<SavedFile> {
      const path = parseFilePath(filename);
      if (!path.ok) return toPathFailure("filename", path.error);
      const written = await beginChange(source, caller, savingTool).workspace.receive(path.value, pieces);
      return written.ok
        ? success({ name: path.value.text, sizeBytes: written.value.sizeBytes })
        : toFailure("write file", path.value, written.error);
    },
    /** Creates a file in the root by a name that the caller did not choose, or one like it; replaces nothing. */
    async create(suggestion: string, pieces: ArrivingContent, caller: Caller): Done<SavedFile> {
      const { workspace } = beginChange(source, caller, savingTool);
      const name = plainName(suggestion);
      for (let number = 1;; number++) {
        const path = entryPath(rootPath, numberedName(name, number));
        // The content arrives once: a name is chosen before.
        const present = await workspace.stat(path);
        if ((present.ok || isTaken(present.error)) && number < maxNamesTried) continue;
        const written = await workspace.receive(path, pieces, { mode: "create" });
        return written.ok
          ? success({ name: path.text, sizeBytes: written.value.sizeBytes })
          : toFailure("write file", path, written.error);
      }
    },
  };
}

async function sizeOf(workspace: Workspace, path: WorkspacePath): Promise<Outcome<number>> {
  const info = await workspace.stat(path);
  if (!info.ok) return info;
  const { sizeBytes, kind } = info.value;
  if (kind === "directory") return failure({ reason: "is_directory" });
  return sizeBytes > maxSentBytes
    ? failure({ reason: "too_large", sizeBytes, limitBytes: maxSentBytes })
    : success(sizeBytes);
}

/** The file in parts that the workspace reads at once. */
async function readWhole(workspace: Workspace, path: WorkspacePath): Promise<Outcome<Uint8Array<ArrayBuffer>>> {
  const size = await sizeOf(workspace, path);
  if (!size.ok) return size;
  const sizeBytes = size.value;
  const bytes = new Uint8Array(sizeBytes);
  let read = 0;
  while (read < sizeBytes) {
    const part = await workspace.readInto(path, bytes.subarray(read), read);
    if (!part.ok) return part;
    if (part.value.lengthBytes === 0 || part.value.sizeBytes !== sizeBytes) return failure({ reason: "conflict" });
    read += part.value.lengthBytes;
  }
  return success(bytes);
}

const signsOfAnEntry = new Set<DenialCause>([
  "read_only",
  "outside_link",
  "link_loop",
  "unreadable_link",
  "other_file_system",
  "other_name",
]);

/** Whether a new file was refused because of what has its name. */
function isTaken(refusal: WorkspaceRefusal): boolean {
  if (refusal.reason === "denied") return signsOfAnEntry.has(refusal.because);
  return ["already_exists", "is_directory", "not_a_file"].includes(refusal.reason);
}

/** The name of one file, out of text that a stranger wrote: without what could make it a path, or mislead. */
function plainName(text: string): string {
  const plain = text.toWellFormed().replace(/[\p{Cc}\p{Cf}\u2028\u2029\\/:*?"<>|]+/gu, "_").replace(/^[\s.]+/u, "");
  const name = numberedName(plain, 1, maxSuggestionBytes).replace(/[\s.]+$/u, "");
  return name === "" || newNameProblem(name) !== null ? "attachment" : name;
}

const contentTypes: ReadonlyMap<string, string> = new Map(Object.entries({
  csv: "text/csv",
  gif: "image/gif",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  log: "text/plain",
  md: "text/markdown",
  pdf: "application/pdf",
  png: "image/png",
  txt: "text/plain",
  xml: "application/xml",
  zip: "application/zip",
}));

const fileNames = { ...recordNames, filename: "path file file_path filepath" };

/** Files on their way at once, one of each person: each is in memory, and in the sockets once more. */
const maxSending = 2;
/** A call that waits longer for its turn would not end in time for ServiceNow's own agents. */
const sendingWaitMs = 10_000;

const notSent: ToolOutcome = {
  ok: false,
  code: "servicenow_busy",
  message: "Nothing was sent: other files are on their way to ServiceNow. Call again in a minute.",
};

/** Runs what holds a file in memory in its caller's turn, or not at all where that does not come in time. */
function createSendingTurns() {
  const [ofPerson, ofAll] = [createParallelShare(1), createParallelShare(maxSending)];
  return async (subject: string, signal: AbortSignal, send: () => Promise<ToolOutcome>): Promise<ToolOutcome> => {
    const ended = AbortSignal.any([signal, AbortSignal.timeout(sendingWaitMs)]);
    try {
      return await ofPerson(subject, () => ofAll("everyone", send, () => ended), () => ended);
    } catch (error) {
      if (error === ended.reason) return notSent;
      throw error;
    }
  };
}

export function servicenowAttachTool(servicenow: ServicenowRecords, files: AttachmentFiles): Tool {
  const inTurn = createSendingTurns();
  return defineWritingTool({
    name: "servicenow_attach",
    title: "Attach a file to a ServiceNow record",
    description: "Attaches a workspace file. Everyone who sees the record can read it.",
    scopes: ["servicenow:write", "files:read"],
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    aliases: otherNames(fileNames),
    knownAs: "servicenow_add_attachment",
    input: z.object({
      id: idParameter(),
      table: optionalTable(),
      filename: z.string().describe("Path in the workspace"),
      dry_run: dryRunParameter(),
    }),
  }, async ({ id, table, filename, dry_run: dryRun }, context, reader) => {
    const { principal } = context;
    const size = await files.size(filename, principal);
    if (!size.ok) return size;
    const fileName = filename.slice(filename.lastIndexOf("/") + 1);
    const request = { id, table: given(table) };
    if (dryRun) {
      const found = await servicenow.desk.attach({ ...request, file: null }, callerOf(context));
      if (!found.ok) return toFailureOutcome(servicenow, found.error);
      const what = `${showName(fileName)} (${counted(size.value, "byte")})`;
      const { record, title } = found.value;
      const about = title === "" || title === record ? record : `${record} (${title})`;
      return toTextOutcome([
        reader === "person" ? `Attach ${what} to ${about}` : `Dry run, nothing sent. ${record} would get ${what}`,
      ]);
    }
    return await inTurn(principal.subject, context.signal, async () => {
      const bytes = await files.read(filename, principal);
      if (!bytes.ok) return bytes;
      const extension = /\.([^.]+)$/.exec(fileName)?.[1]?.toLowerCase() ?? "";
      const contentType = contentTypes.get(extension) ?? "application/octet-stream";
      const file = { fileName, contentType, bytes: bytes.value };
      const attached = await servicenow.desk.attach({ ...request, file }, callerOf(context));
      if (!attached.ok) return toFailureOutcome(servicenow, attached.error);
      const { record, file: added } = attached.value;
      return toTextOutcome([
        `Attached ${showName(added?.fileName ?? fileName)} (${
          counted(added?.sizeBytes ?? size.value, "byte")
        }) to ${record}`,
      ]);
    });
  });
}

/** `servicenow_fetch_attachment`: a record's file into the workspace. */
export function servicenowFetchAttachmentTool(servicenow: ServicenowRecords, files: AttachmentFiles): Tool {
  return defineTool({
    name: "servicenow_fetch_attachment",
    title: "Save a ServiceNow attachment",
    description: "Saves a record's file to the workspace. Replaces a file that filename names.",
    scopes: ["servicenow:read", "files:write"],
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    aliases: otherNames(fileNames),
    knownAs: "servicenow_save_attachment",
    input: z.object({
      id: idParameter(),
      table: optionalTable(),
      name: z.string().optional().describe("Of the attachment, where there are several"),
      filename: z.string().optional().describe("Where to save it; a new file when absent"),
    }),
    async run({ id, table, name, filename }, context) {
      const fetched = await servicenow.desk.fetchFile(
        { id, table: given(table), name: given(name) },
        callerOf(context),
      );
      if (!fetched.ok) return toFailureOutcome(servicenow, fetched.error);
      return await saveAttachment({ servicenow, files }, fetched.value, given(filename), context);
    },
  });
}

/** A file by a name that the caller did not choose replaces nothing. */
async function saveAttachment(
  { servicenow, files }: { readonly servicenow: ServicenowRecords; readonly files: AttachmentFiles },
  { pieces, fileName, cancel, failureOf }: AttachmentContent,
  chosen: string | undefined,
  context: ToolContext,
): Promise<ToolOutcome> {
  try {
    const saved = chosen === undefined
      ? await files.create(fileName, pieces, context)
      : await files.write(chosen, pieces, context);
    return saved.ok
      ? toTextOutcome([`Saved ${showName(saved.value.name)} (${counted(saved.value.sizeBytes, "byte")})`])
      : saved;
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    return toFailureOutcome(servicenow, failure);
  } finally {
    await cancel();
  }
}
