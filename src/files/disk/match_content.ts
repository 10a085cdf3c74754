/** Compares the content of a file of the disk workspace with what a caller expects. */
import { createDigest } from "../../lib/content_digest.ts";
import { failure, success } from "../../lib/result.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome } from "../workspace/port.ts";
import type { Disk } from "./context.ts";
import { versionOf } from "./directory.ts";
import { openInside } from "./open.ts";
import { readPieces } from "./read.ts";
import { toRefusal } from "./refusal.ts";

/** The version of the file at `path` if its content has this SHA-256, and a conflict otherwise. */
export async function matchContent(disk: Disk, path: WorkspacePath, sha256: string): Promise<Outcome<string>> {
  const opened = openInside(disk, path, disk.limits.maxFileBytes);
  if (!opened.ok) return opened.error.reason === "not_found" ? failure({ reason: "conflict" }) : opened;
  const file = opened.value;
  try {
    const digest = createDigest();
    for await (const piece of readPieces(file)) digest.update(piece);
    return digest.digest("hex") === sha256.toLowerCase()
      ? success(versionOf(file.info))
      : failure({ reason: "conflict" });
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    file.close();
  }
}
