/** Which revision a body is served under. */
import { failure, type Result, success } from "../../lib/result.ts";
import { defaultLegacyRevision, latestLegacyRevision, legacyRevisions } from "./legacy.ts";
import type { Revision } from "./revision.ts";

/**
 * The revision that the `MCP-Protocol-Version` header names, or what its absence means; the unknown version otherwise.
 * `initialize` negotiates in its body: its header, if any, says nothing yet.
 */
export function selectRevision(header: string | null, method: unknown): Result<Revision, string> {
  if (method === "initialize") return success(latestLegacyRevision);
  if (header === null) return success(defaultLegacyRevision);
  const revision = legacyRevisions.get(header);
  return revision === undefined ? failure(header) : success(revision);
}
