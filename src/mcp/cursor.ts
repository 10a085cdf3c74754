/** Opaque page cursors: sealed, so that a client can neither read nor make one. */
import type { SecretBox } from "../lib/secret_box.ts";

const purpose = "mcp-cursor";

/** A cursor for the page of `list` that begins after the entry called `after`. */
export function sealCursor(secretBox: SecretBox, list: string, after: string): string {
  return secretBox.seal(purpose, after, list);
}

/** The name of the entry after which the page begins, or `null` when the cursor is not one of ours for this list. */
export function openCursor(secretBox: SecretBox, list: string, cursor: string): string | null {
  return secretBox.open(purpose, cursor, list);
}
