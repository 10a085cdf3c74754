/** The workspace as the attachment tools see it: bytes in, bytes out, refusals as tools tell them. */
import type { Principal } from "../lib/principal.ts";
import type { ToolContext } from "../mcp/tool.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { numberedName } from "../files/workspace/numbered_name.ts";
import { entryPath, newNameProblem, parseFilePath, rootPath, type WorkspacePath } from "../files/workspace/path.ts";
import type { ArrivingContent } from "../files/workspace/arriving_content.ts";
import { type DenialCause, type Outcome, type Workspace, workspaceOf, type WorkspaceRefusal, type WorkspaceSource } from "../files/workspace/port.ts";
import { maxSentBytes } from "./desk_port.ts";
import { toFailure, toPathFailure } from "../files/tools/refusal.ts";
import { beginChange } from "../files/tools/changing.ts";

/** A refusal, as a tool's failure. */
interface FileFailure {
  readonly code: string;
  readonly message: string;
}

/** Who changes files, and where the change is noted. */
type Caller = Pick<ToolContext, "principal" | "noteChange">;

/** A file as it was saved. */
interface SavedFile {
  /** Its path in the workspace. */
  readonly name: string;
  readonly sizeBytes: number;
}

/** Files of the user who calls. */
export interface AttachmentFiles {
  read(filename: string, principal: Principal): Promise<Result<Uint8Array<ArrayBuffer>, FileFailure>>;
  /** Creates or replaces the file that the caller names. Throws what `pieces` throws, and has written nothing then. */
  write(filename: string, pieces: ArrivingContent, caller: Caller): Promise<Result<SavedFile, FileFailure>>;
  /** Creates a file in the root by a name that the caller did not choose, or one like it; replaces nothing. */
  create(suggestion: string, pieces: ArrivingContent, caller: Caller): Promise<Result<SavedFile, FileFailure>>;
}

/** The tool that changes files here. */
const savingTool = "servicenow_fetch_attachment";
/** How many names are tried before a free one would have to be chosen by the caller. */
const maxNamesTried = 100;
const maxSuggestionBytes = 120;

/** Files of the workspace that the caller uses. */
export function workspaceFiles(source: WorkspaceSource): AttachmentFiles {
  return {
    async read(filename, principal) {
      const path = parseFilePath(filename);
      if (!path.ok) return failure(toPathFailure("filename", path.error));
      const content = await readWhole(workspaceOf(source, principal), path.value);
      return content.ok ? content : failure(toFailure("read file", path.value, content.error));
    },
    async write(filename, pieces, caller) {
      const path = parseFilePath(filename);
      if (!path.ok) return failure(toPathFailure("filename", path.error));
      const written = await beginChange(source, caller, savingTool).workspace.receive(path.value, pieces);
      return written.ok
        ? success({ name: path.value.text, sizeBytes: written.value.sizeBytes })
        : failure(toFailure("write file", path.value, written.error));
    },
    async create(suggestion, pieces, caller) {
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
          : failure(toFailure("write file", path, written.error));
      }
    },
  };
}

/** A file of up to {@link maxSentBytes}, in parts that the workspace reads at once. */
async function readWhole(workspace: Workspace, path: WorkspacePath): Promise<Outcome<Uint8Array<ArrayBuffer>>> {
  const info = await workspace.stat(path);
  if (!info.ok) return info;
  const { sizeBytes, kind } = info.value;
  if (kind === "directory") return failure({ reason: "is_directory" });
  if (sizeBytes > maxSentBytes) return failure({ reason: "too_large", sizeBytes, limitBytes: maxSentBytes });
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
