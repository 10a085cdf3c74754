/**
 * The families of entries, by the first part of their keys, that can be watched. Every instance announces changes of
 * these, watched or not, so what is written often, or in bulk, is left out: on PostgreSQL, commits that
 * announce something wait for each other.
 */
const watchedFamilies: ReadonlySet<string> = new Set([
  "approval_rules",
  "call_switches",
  "grant",
  "live_ask",
  "held_call",
  "operator_token",
  "revoked_token",
  "servicenow_link",
  "signing_key",
  "user",
  "mcp_answer",
  "mcp_cancel",
  "mcp_relay",
  "mcp_resume",
  "mcp_session",
  "mcp_task",
  "mcp_task_inbox",
  "workspace_change",
]);

/**
 * The families of the stored audit, and of clients that connect. A server under load writes them often, and what is
 * trusted until `changeCount` moves never depends on them.
 */
const uncountedFamilies: ReadonlySet<string> = new Set([
  "audit",
  "audit_calls",
  "audit_chain",
  "audit_oldest",
  "connection_steps",
]);

/** Whether a commit that writes the entry moves `changeCount`. */
export function isCounted(key: readonly string[]): boolean {
  return !uncountedFamilies.has(key[0] ?? "");
}

/** Whether changes of the entry are announced. */
export function isWatchable(key: readonly string[]): boolean {
  return watchedFamilies.has(key[0] ?? "");
}
