/** The tool `servicenow_attach`: a workspace file onto a record. */
import { counted } from "../lib/counted.ts";
import * as z from "zod";
import { createParallelShare } from "../lib/parallel_share.ts";
import type { Principal } from "../lib/principal.ts";
import { defineTool, otherNames, type Tool, type ToolContext, type ToolOutcome } from "../mcp/mod.ts";
import { failure, success } from "../lib/result.ts";
import {
  type ArrivingContent,
  beginChange,
  entryPath,
  mediaTypeOf,
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
  type WorkspaceSource,
} from "../files/mod.ts";
import { Refusal } from "./failure.ts";
import { maxSentBytes } from "./record_files.ts";
import type { ServicenowRecords } from "./servicenow.ts";
import {
  answerWith,
  callerOf,
  defineWritingTool,
  dryRun,
  recordNames,
  recordParameters,
  toFailureOutcome,
  toTextOutcome,
  writing,
} from "./outcome_tool.ts";
import { given } from "./tables.ts";

/** What came of a file, or the tool's failure. */
type Done<T> = Promise<{ readonly ok: true; readonly value: T } | Extract<ToolOutcome, { readonly ok: false }>>;

/** Who changes files, and where the change is noted. */
type Caller = Pick<ToolContext, "principal" | "noteChange">;

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
    /**
     * Creates or replaces the file that the caller names. Without one, creates a file in the root by the suggested
     * name, or one like it, and replaces nothing. Throws what `pieces` throws, and has written nothing then.
     */
    async save(
      { filename, suggestion }: { readonly filename: string | undefined; readonly suggestion: string },
      pieces: ArrivingContent,
      caller: Caller,
    ): Done<{ readonly name: string; readonly sizeBytes: number }> {
      const chosen = filename === undefined ? null : parseFilePath(filename);
      if (chosen?.ok === false) return toPathFailure("filename", chosen.error);
      const { workspace } = beginChange(source, caller, savingTool);
      const path = chosen?.value ?? await freePath(workspace, plainName(suggestion));
      const written = await workspace.receive(path, pieces, chosen === null ? { mode: "create" } : {});
      return written.ok
        ? success({ name: path.text, sizeBytes: written.value.sizeBytes })
        : toFailure("write file", path, written.error);
    },
  };
}

/**
 * A path in the root by this name, or one like it: the first at which nothing is, or the last one, which is then refused
 * for what is wrong. The content arrives once: the name is chosen before.
 */
async function freePath(workspace: Workspace, name: string): Promise<WorkspacePath> {
  for (let number = 1;; number++) {
    const path = entryPath(rootPath, numberedName(name, number));
    const present = await workspace.stat(path);
    if (number >= maxNamesTried || (!present.ok && present.error.reason === "not_found")) return path;
  }
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

/** The name of one file, out of text that a stranger wrote: without what could make it a path, or mislead. */
function plainName(text: string): string {
  const plain = text.toWellFormed().replace(/[\p{Cc}\p{Cf}\u2028\u2029\\/:*?"<>|]+/gu, "_").replace(/^[\s.]+/u, "");
  const name = numberedName(plain, 1, maxSuggestionBytes).replace(/[\s.]+$/u, "");
  return name === "" || newNameProblem(name) !== null ? "attachment" : name;
}

/** Types of files that do nothing where the instance shows them; other files are sent without a type of their own. */
const plainTypes = /^(text\/(plain|csv|markdown)|image\/(gif|jpeg|png)|application\/(json|pdf|xml|zip))$/;

const fileNames = { ...recordNames, filename: "path file file_path filepath" };

/** Files on their way at once, one of each person: each is in memory, and in the sockets once more. */
const maxSending = 2;
/** A call that waits longer for its turn would not end in time for ServiceNow's own agents. */
const sendingWaitMs = 10_000;

const notSent = "Nothing was sent: other files are on their way to ServiceNow. Call again in a minute.";

/** Runs what holds a file in memory in its caller's turn, or not at all where that does not come in time. */
function createSendingTurns() {
  const [ofPerson, ofAll] = [createParallelShare(1), createParallelShare(maxSending)];
  return async (subject: string, signal: AbortSignal, send: () => Promise<ToolOutcome>): Promise<ToolOutcome> => {
    const ended = AbortSignal.any([signal, AbortSignal.timeout(sendingWaitMs)]);
    try {
      return await ofPerson(subject, () => ofAll("everyone", send, () => ended), () => ended);
    } catch (error) {
      if (error === ended.reason) return { ok: false, code: "servicenow_busy", message: notSent };
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
    aliases: otherNames(fileNames),
    knownAs: "servicenow_add_attachment",
    input: z.object({
      ...recordParameters,
      filename: z.string().describe("Path in the workspace"),
      dry_run: dryRun,
    }),
  }, async ({ id, table, filename, dry_run: dryRun }, context, reader) => {
    const { principal } = context;
    const size = await files.size(filename, principal);
    if (!size.ok) return size;
    const fileName = filename.slice(filename.lastIndexOf("/") + 1);
    const request = { id, table: given(table) };
    if (dryRun) {
      const found = servicenow.desk.attach({ ...request, file: null }, callerOf(context));
      return await answerWith(servicenow, found, ({ record, title }) => {
        const what = `${showName(fileName)} (${counted(size.value, "byte")})`;
        const about = title === "" || title === record ? record : `${record} (${title})`;
        return toTextOutcome([
          reader === "person" ? `Attach ${what} to ${about}` : `Dry run, nothing sent. ${record} would get ${what}`,
        ]);
      });
    }
    return await inTurn(principal.subject, context.signal, async () => {
      const bytes = await files.read(filename, principal);
      if (!bytes.ok) return bytes;
      const promised = mediaTypeOf(fileName);
      const contentType = plainTypes.test(promised) ? promised : "application/octet-stream";
      const file = { fileName, contentType, bytes: bytes.value };
      const attached = servicenow.desk.attach({ ...request, file }, callerOf(context));
      return await answerWith(servicenow, attached, ({ record, file: added }) => {
        const [name, sizeBytes] = [added?.fileName ?? fileName, added?.sizeBytes ?? size.value];
        return toTextOutcome([`Attached ${showName(name)} (${counted(sizeBytes, "byte")}) to ${record}`]);
      });
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
    hasView: true,
    annotations: { ...writing.annotations, destructiveHint: true },
    aliases: otherNames(fileNames),
    knownAs: "servicenow_save_attachment",
    input: z.object({
      ...recordParameters,
      name: z.string().optional().describe("Of the attachment, where there are several"),
      filename: z.string().optional().describe("Where to save it; a new file when absent"),
    }),
    async run({ id, table, name, filename }, context) {
      const request = { id, table: given(table), name: given(name) };
      const fetched = await servicenow.desk.fetchFile(request, callerOf(context));
      if (!fetched.ok) return toFailureOutcome(servicenow, fetched.error);
      const { pieces, fileName, cancel } = fetched.value;
      try {
        const saved = await files.save({ filename: given(filename), suggestion: fileName }, pieces, context);
        if (!saved.ok) return saved;
        return toTextOutcome([`Saved ${showName(saved.value.name)} (${counted(saved.value.sizeBytes, "byte")})`]);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return toFailureOutcome(servicenow, error.failure);
      } finally {
        await cancel();
      }
    },
  });
}
