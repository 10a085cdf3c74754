/** The tool `servicenow_attach`: a workspace file onto a record. */
import { counted, failure, success } from "../lib/result.ts";
import * as z from "zod";
import { createParallelShare } from "../lib/turns.ts";
import type { Principal } from "../lib/principal.ts";
import { defineTool, otherNames, type Tool, type ToolContext, type ToolOutcome } from "../mcp/mod.ts";
import { mayGoOnAt } from "../lib/suggestible.ts";
import {
  beginChange,
  entryPath,
  findPath,
  mediaTypeOf,
  newNameProblem,
  numberedName,
  otherNamesWords,
  readName,
  rootPath,
  showName,
  suggestNear,
  toFailure,
} from "../files/mod.ts";
import type { ArrivingContent, Outcome, Workspace, WorkspacePath, WorkspaceSource } from "../files/mod.ts";
import { invalidInput, Refusal } from "./failure.ts";
import type { DeskParts } from "./table_api.ts";
import { findRecord, type RecordName } from "./find_record.ts";
import { displayValue, oneLine } from "./field_values.ts";
import { nameOf } from "./search.ts";
import { askJson } from "./transport.ts";
import { type Attachment, attachment, listFiles } from "./get_record.ts";
import type { ServicenowRecords } from "./servicenow.ts";
import {
  answerWith,
  defineWritingTool,
  dryRun,
  invalidArguments,
  nameText,
  recordNames,
  recordParameters,
  toFailureOutcome,
  toTextOutcome,
  writing,
} from "./outcome_tool.ts";
import { given } from "./tables.ts";

/** What came of a file, or the tool's failure. */
type Done<T> = Promise<{ readonly ok: true; readonly value: T } | Extract<ToolOutcome, { readonly ok: false }>>;

/** Files of the user who calls. */
type AttachmentFiles = ReturnType<typeof workspaceFiles>;

/** The tool that changes files here. */
const savingTool = "servicenow_fetch_attachment";
/** How many names are tried before a free one would have to be chosen by the caller. */
const maxNamesTried = 100;
const maxSuggestionBytes = 120;

/** A file as it was when the call began. */
interface SeenFile {
  readonly path: WorkspacePath;
  readonly sizeBytes: number;
  readonly version: string;
}

/** Files of the workspace that the caller uses. */
export function workspaceFiles(source: WorkspaceSource) {
  /** Names in the root that files on their way have. */
  const arriving = new WeakMap<Workspace, Set<string>>();
  return {
    /** The file that the caller names: {@link maxSentBytes} at most. */
    async look(filename: string, principal: Principal): Done<SeenFile> {
      const workspace = source(principal);
      const path = await findPath(workspace, "filename", filename);
      if (!path.ok) return path.error;
      const seen = await lookAt(workspace, path.value);
      if (seen.ok) return success({ path: path.value, ...seen.value });
      return await suggestNear(workspace, path.value, toFailure("read file", path.value, seen.error), { isFile: true });
    },
    /** Its content, unless it has changed since. */
    async read(seen: SeenFile, principal: Principal): Done<Uint8Array<ArrayBuffer>> {
      const bytes = await readWhole(source(principal), seen);
      return bytes.ok ? bytes : toFailure("read file", seen.path, bytes.error);
    },
    /**
     * Creates or replaces the file that the caller names. Without one, creates a file in the root by the suggested
     * name, or one like it, and replaces nothing. Throws what `pieces` throws, and has written nothing then.
     */
    async save(
      { filename, suggestion }: { readonly filename: string | undefined; readonly suggestion: string },
      pieces: ArrivingContent,
      caller: Pick<ToolContext, "principal" | "noteChange">,
    ): Done<{ readonly name: string; readonly sizeBytes: number; readonly otherNames?: number }> {
      const { workspace } = beginChange(source, caller, savingTool);
      const taken = arriving.getOrInsertComputed(source(caller.principal), () => new Set());
      const chosen = filename === undefined
        ? success(await freePath(workspace, plainName(suggestion), taken))
        : await findPath(workspace, "filename", filename);
      if (!chosen.ok) return chosen.error;
      const path = chosen.value;
      if (path === null) return nameIt;
      try {
        const written = await workspace.receive(path, pieces, filename === undefined ? { mode: "create" } : {});
        if (written.ok) return success({ ...written.value, name: path.text });
        const failed = toFailure("save file", path, written.error);
        const isElsewhere = filename === undefined && ["denied", "already_exists"].includes(written.error.reason);
        return isElsewhere ? { ...failed, message: `${failed.message}; give filename` } : failed;
      } finally {
        if (filename === undefined) taken.delete(path.text);
      }
    },
  };
}

const nameIt = invalidArguments("no free name like the attachment's own: give filename. Nothing was saved");

/**
 * A path in the root by this name, or one like it: the first at which nothing is, that no other file is on its way to,
 * and that no rule keeps from the call. It is among `taken` then. The content arrives once: the name is chosen before.
 */
async function freePath(workspace: Workspace, name: string, taken: Set<string>): Promise<WorkspacePath | null> {
  for (let number = 1; number <= maxNamesTried; number++) {
    const path = entryPath(rootPath, numberedName(name, number));
    const present = await workspace.stat(path);
    if (present.ok || present.error.reason !== "not_found" || !await mayGoOnAt(path.text)) continue;
    if (taken.has(path.text)) continue;
    taken.add(path.text);
    return path;
  }
  return null;
}

async function lookAt(workspace: Workspace, path: WorkspacePath): Promise<Outcome<Omit<SeenFile, "path">>> {
  const seen = await workspace.read(path, { offsetBytes: 0, lengthBytes: 0 });
  if (!seen.ok) return seen;
  const { sizeBytes, version } = seen.value;
  return sizeBytes > maxSentBytes
    ? failure({ reason: "too_large", sizeBytes, limitBytes: maxSentBytes })
    : success({ sizeBytes, version });
}

/** The file in parts that the workspace reads at once. */
async function readWhole(
  workspace: Workspace,
  { path, sizeBytes, version }: SeenFile,
): Promise<Outcome<Uint8Array<ArrayBuffer>>> {
  const bytes = new Uint8Array(sizeBytes);
  let read = 0;
  while (read < sizeBytes) {
    const part = await workspace.readInto(path, bytes.subarray(read), read);
    if (!part.ok) return part;
    if (part.value.lengthBytes === 0) return failure({ reason: "conflict" });
    read += part.value.lengthBytes;
  }
  const now = await lookAt(workspace, path);
  if (!now.ok) return now;
  return now.value.version === version ? success(bytes) : failure({ reason: "conflict" });
}

/** The name of one file, out of text that a stranger wrote: without what could make it a path, or mislead. */
function plainName(text: string): string {
  const plain = text.toWellFormed().replace(/[\p{Cc}\p{Cf}\u2028\u2029\\/:*?"<>|]+/gu, "_").replace(/^[\s.]+/u, "");
  const name = numberedName(plain, 1, maxSuggestionBytes).replace(/[\s.]+$/u, "");
  return name === "" || newNameProblem(name) !== null ? "attachment" : name;
}

// The jobs: files are fetched and added under the person's rights.

/** A file that is fetched. It is written as it arrives. */
const maxFetchedBytes = 67_108_864;
/** A file that is sent, which is held in memory: a second try with a new token needs it again. */
const maxSentBytes = 16_777_216;

/** A file on its way: it has to be read to its end, or cancelled. `pieces` throws a {@link Refusal} where it is cut. */
async function fetchNamedFile(parts: DeskParts, request: FileRequest) {
  const { file: { sysId, fileName, sizeBytes } } = await findNamedFile(parts, request);
  if (sizeBytes > maxFetchedBytes) throw new Refusal({ reason: "too_large", limitBytes: maxFetchedBytes });
  const path = `/api/now/attachment/${sysId}/file`;
  const asked = { method: "GET", path, accept: "stream", maxBytes: maxFetchedBytes } as const;
  const answer = await parts.callAs(parts.person, asked);
  if (!answer.ok && answer.error.reason === "not_found") throw invalidInput(`${showName(fileName)} ${goneMeanwhile}`);
  if (!answer.ok) throw new Refusal(answer.error);
  const { file } = answer.value;
  if (file === undefined) throw notTheFile();
  async function* whole({ pieces }: { readonly pieces: ArrivingContent }): AsyncGenerator<Uint8Array> {
    let size = 0;
    for await (const piece of pieces) {
      size += piece.byteLength;
      yield piece;
    }
    // an error or a page of a gateway comes as a success, too
    if (size !== sizeBytes) throw notTheFile();
  }
  return { fileName, cancel: file.cancel, pieces: whole(file) };
}

const goneMeanwhile = "cannot be read: it was deleted meanwhile, or the user's own rights do not show it";

const notTheFile = (): Refusal => new Refusal({ reason: "unavailable", because: "bad_reply" });

/** A file of a record. Without a name, its only one. */
interface FileRequest extends RecordName {
  readonly name: string | undefined;
}

/** The file of a record that `name` means, as it is or as answers show it, and the record's title. */
async function findNamedFile(parts: DeskParts, { name, ...record }: FileRequest) {
  const found = await findRecord(parts, record, { fields: ["short_description"] });
  const listed = await listFiles(parts, found);
  const written = name?.trim() ?? "";
  const meant = readName(written) ?? written;
  const fittingOf = (files: readonly Attachment[]): readonly Attachment[] => {
    if (name === undefined) return files;
    const exact = files.filter(({ fileName, sysId }) => sysId === meant.toLowerCase() || fileName === meant);
    return exact.length > 0 ? exact : files.filter(({ fileName }) => plainForm(fileName) === plainForm(meant));
  };
  let fitting = fittingOf(listed);
  // the list may be cut, or hold less than it would for what the person may not see
  if (fitting.length === 0 && name !== undefined) fitting = fittingOf(await listFiles(parts, found, meant));
  const [file, second] = fitting;
  if (file !== undefined && second === undefined) return { ...found, file };
  const among = (fitting.length > 0 ? fitting : listed).map(({ fileName, sizeBytes, sysId }) =>
    `${showName(fileName)} (${counted(sizeBytes, "byte")}, ${sysId})`
  );
  const all = `name one of its attachments: ${among.join("; ")}`;
  throw invalidInput(among.length === 0 ? "the record has no attachment that the user may see" : all);
}

/** A name without what a caller would not copy. */
function plainForm(name: string): string {
  return oneLine(name).normalize("NFC").toLowerCase();
}

/** A file to attach to a record. */
interface AttachRequest extends RecordName {
  /** `null` asks only whether the record may get one. */
  readonly file: {
    readonly fileName: string;
    readonly contentType: string;
    readonly bytes: Uint8Array<ArrayBuffer>;
  } | null;
}

/** A record's number or name, its title, and the attachment that was made: `null` where none was sent. */
async function attachFile(parts: DeskParts, { id, table, file }: AttachRequest) {
  const found = await findRecord(parts, { id, table }, { writing: true, fields: ["short_description"] });
  const record = nameOf(found.table, found.record);
  const title = oneLine(displayValue(found.record, "short_description"));
  if (file === null) return { record, title, file: null };
  const { fileName, contentType, bytes } = file;
  const added = await askJson(parts.callAs, parts.person, {
    method: "POST",
    path: "/api/now/attachment/file",
    query: { table_name: found.table, table_sys_id: found.sysId, file_name: fileName },
    body: { type: contentType, content: bytes },
  }, attachment);
  if (added.recordId !== found.sysId) {
    throw new Refusal({ reason: "unavailable", because: "bad_reply", uncertain: true });
  }
  return { record, title, file: added };
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
    input: z.object({ ...recordParameters, filename: z.string().describe("Path in the workspace"), dry_run: dryRun }),
  }, async ({ id, table, filename, dry_run: dryRun }, context, reader) => {
    const { principal } = context;
    const seen = await files.look(filename, principal);
    if (!seen.ok) return seen;
    const { path, sizeBytes } = seen.value;
    const fileName = path.segments.at(-1) ?? "";
    const request = { id, table: given(table) };
    if (dryRun) {
      const what = `${showName(fileName)} (${counted(sizeBytes, "byte")})`;
      return await answerWith({ servicenow, context }, attachFile, { ...request, file: null }, ({ record, title }) => {
        const about = withTitle(record, title);
        return [
          reader === "person" ? `Attach ${what} to ${about}` : `Dry run, nothing sent. ${record} would get ${what}`,
        ];
      });
    }
    return await inTurn(principal.subject, context.signal, async () => {
      const bytes = await files.read(seen.value, principal);
      if (!bytes.ok) return bytes;
      const promised = mediaTypeOf(fileName);
      const contentType = plainTypes.test(promised) ? promised : "application/octet-stream";
      const file = { fileName, contentType, bytes: bytes.value };
      return await answerWith({ servicenow, context }, attachFile, { ...request, file }, ({ record, file: added }) => {
        const what = `${showName(added?.fileName ?? fileName)} (${counted(sizeBytes, "byte")}) to ${record}`;
        if (added?.sizeBytes === sizeBytes) return [`Attached ${what}`];
        const message = `Sent ${what}, but ServiceNow has ${counted(added?.sizeBytes ?? 0, "byte")} of it`;
        return { ok: false, code: "servicenow_not_taken", message };
      });
    });
  });
}

function withTitle(record: string, title: string): string {
  return title === "" || title === record ? record : `${record} (${title})`;
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
      name: nameText.optional().describe("Of the attachment, where there are several"),
      filename: z.string().optional().describe("Where to save it; a new file when absent"),
    }),
    async run({ id, table, name, filename }, context) {
      const request = { id, table: given(table), name: given(name) };
      const { principal: { subject }, signal } = context;
      const fetched = await servicenow.run(fetchNamedFile, request, { subject, signal });
      if (!fetched.ok) return toFailureOutcome(servicenow, fetched.error);
      const { pieces, fileName, cancel } = fetched.value;
      try {
        const saved = await files.save({ filename: given(filename), suggestion: fileName }, pieces, context);
        if (!saved.ok) return saved;
        const { name: savedName, sizeBytes, otherNames } = saved.value;
        const words = [`Saved ${showName(savedName)} (${counted(sizeBytes, "byte")})`, otherNamesWords(otherNames)];
        return toTextOutcome([words.filter((each) => each !== "").join("; ")]);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return toFailureOutcome(servicenow, error.failure);
      } finally {
        await cancel();
      }
    },
    async preview({ id, table, name, filename }, context) {
      const request = { id, table: given(table), name: given(name) };
      return await answerWith({ servicenow, context }, findNamedFile, request, ({ table, record, file }) => {
        const { fileName, sizeBytes, sysId } = file;
        const title = oneLine(displayValue(record, "short_description"));
        const where = given(filename) === undefined
          ? "as a new file in the workspace"
          : `as ${showName(filename ?? "")}`;
        const what = `${showName(fileName)} (${counted(sizeBytes, "byte")}) of ${
          withTitle(nameOf(table, record), title)
        }`;
        return toTextOutcome([`Save ${what} ${where}`], sysId);
      });
    },
  });
}
