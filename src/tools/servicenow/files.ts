/** The workspace as the attachment tools see it: bytes in, bytes out, refusals as tools tell them. */
import type { Principal } from "../../lib/principal.ts";
import type { ToolContext } from "../../mcp/tool.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { numberedName } from "../../workspace/numbered_name.ts";
import { childPath, newNameProblem, parseFilePath, rootPath } from "../../workspace/path.ts";
import { type DenialCause, workspaceOf, type WorkspaceRefusal, type WorkspaceSource } from "../../workspace/port.ts";
import { toFailure, toPathFailure } from "../files/refusal.ts";
import { beginChange } from "../files/undo/changing.ts";

/** A refusal, as a tool's failure. */
interface FileFailure {
  readonly code: string;
  readonly message: string;
}

/** Who changes files, and where the change is noted. */
type Caller = Pick<ToolContext, "principal" | "noteChange">;

/** Files of the user who calls. */
export interface AttachmentFiles {
  read(filename: string, principal: Principal): Promise<Result<Uint8Array<ArrayBuffer>, FileFailure>>;
  /** Creates or replaces the file that the caller names; gives its name in the workspace. */
  write(filename: string, bytes: Uint8Array, caller: Caller): Promise<Result<string, FileFailure>>;
  /** Creates a file in the root by a name that the caller did not choose, or one like it; replaces nothing. */
  create(suggestion: string, bytes: Uint8Array, caller: Caller): Promise<Result<string, FileFailure>>;
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
      const content = await workspaceOf(source, principal).read(path.value);
      return content.ok
        ? success(new Uint8Array(content.value.bytes))
        : failure(toFailure("read file", path.value, content.error));
    },
    async write(filename, bytes, caller) {
      const path = parseFilePath(filename);
      if (!path.ok) return failure(toPathFailure("filename", path.error));
      const written = await beginChange(source, caller, savingTool).workspace.write(path.value, bytes);
      return written.ok ? success(path.value.text) : failure(toFailure("write file", path.value, written.error));
    },
    async create(suggestion, bytes, caller) {
      const { workspace } = beginChange(source, caller, savingTool);
      const name = plainName(suggestion);
      for (let number = 1;; number++) {
        const path = childPath(rootPath, [numberedName(name, number)]);
        const written = await workspace.write(path, bytes, { mode: "create" });
        if (written.ok) return success(path.text);
        if (!isTaken(written.error) || number === maxNamesTried) {
          return failure(toFailure("write file", path, written.error));
        }
      }
    },
  };
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
