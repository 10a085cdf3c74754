/** The workspace as the attachment tools see it: bytes in, bytes out, refusals as tools tell them. */
import type { Principal } from "../lib/principal.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { parseFilePath } from "../workspace/path.ts";
import { workspaceOf, type WorkspaceSource } from "../workspace/port.ts";
import { toFailure, toPathFailure } from "./file_refusal.ts";

/** A refusal, as a tool's failure. */
export interface FileFailure {
  readonly code: string;
  readonly message: string;
}

/** Files of the person who calls. */
export interface AttachmentFiles {
  read(filename: string, principal: Principal): Promise<Result<Uint8Array<ArrayBuffer>, FileFailure>>;
  /** Creates or replaces the file; gives its name in the workspace. */
  write(filename: string, bytes: Uint8Array, principal: Principal): Promise<Result<string, FileFailure>>;
}

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
    async write(filename, bytes, principal) {
      const path = parseFilePath(filename);
      if (!path.ok) return failure(toPathFailure("filename", path.error));
      const written = await workspaceOf(source, principal).write(path.value, bytes);
      return written.ok ? success(path.value.text) : failure(toFailure("write file", path.value, written.error));
    },
  };
}
