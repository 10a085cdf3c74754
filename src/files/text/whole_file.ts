/** Reads a file whole that is larger than one read may give. */
import { digestOf } from "../../lib/content_digest.ts";
import { failure, success } from "../../lib/result.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { FileContent, Outcome, Workspace } from "../workspace/port.ts";

/** Others may write while it is read; it is then read anew. */
const maxAttempts = 5;

/** The content, read in pieces of one version; files of more than `maxBytes` are refused before the second. */
export async function readWholeFile(
  workspace: Workspace,
  path: WorkspacePath,
  maxBytes: number,
): Promise<Outcome<FileContent>> {
  for (let attempt = 1;; attempt++) {
    const read = await readPieces(workspace, path, maxBytes);
    if (read.ok || read.error.reason !== "conflict" || attempt === maxAttempts) return read;
  }
}

async function readPieces(
  workspace: Workspace,
  path: WorkspacePath,
  maxBytes: number,
): Promise<Outcome<FileContent>> {
  const { maxReadBytes } = workspace.limits;
  const pieces: Uint8Array[] = [];
  let firstVersion: string | null = null;
  for (let offsetBytes = 0;;) {
    const read = await workspace.read(path, { offsetBytes, lengthBytes: maxReadBytes });
    if (!read.ok) return read;
    const { bytes, sizeBytes, version, modifiedAt } = read.value;
    if (sizeBytes > maxBytes) return failure({ reason: "too_large", sizeBytes, limitBytes: maxBytes });
    if (version !== (firstVersion ??= version)) return failure({ reason: "conflict" });
    pieces.push(bytes);
    offsetBytes += bytes.byteLength;
    if (bytes.byteLength > 0 && offsetBytes < sizeBytes) continue;
    const whole = Buffer.concat(pieces);
    return success({ bytes: whole, sizeBytes, sha256: digestOf(whole), version, modifiedAt });
  }
}
