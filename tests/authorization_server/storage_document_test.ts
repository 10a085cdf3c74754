import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";

Deno.test("docs/storage.md describes every family of records, and none that does not exist", () => {
  const part = new URL("../../src/oauth/", import.meta.url);
  const records = readdirSync(part).filter((name) => name.endsWith(".ts")).map((name) =>
    readFileSync(new URL(name, part), "utf8")
  ).join("\n");
  const families = Array.from(records.matchAll(/defineRecordFamily\(\s*"([a-z_]+)"/g), ([, name = ""]) => name);
  const document = readFileSync(new URL("../../docs/storage.md", import.meta.url), "utf8");
  const described = [...document.matchAll(/^- `([a-z_]+),/gm)].map(([, name = ""]) => name);
  assert.ok(families.length > 10);
  for (const family of families) assert.ok(described.includes(family), `${family} is not described`);
  const others = described.filter((name) => !families.includes(name));
  assert.deepEqual(others, [
    "public_certificate",
    "servicenow_link",
    "servicenow_link_state",
    "mcp_session",
    "mcp_task",
    "mcp_task_result",
    "rate_limit",
    "mcp_task_inbox",
    "mcp_answer",
    "mcp_cancel",
    "transfer_link",
    "workspace",
    "audit_chain",
    "audit",
    "audit_calls",
    "recorded",
    "call_switches",
    "approval_rules",
    "held_call",
    "notice",
    "notice_failure",
    "live_ask",
    "live_answer",
    "health",
    "installation",
  ]);
});
