/** Outcomes in the console are words: numbers of JSON-RPC and tags of the log say little to an owner. */
import assert from "node:assert/strict";
import { outcomeBadge } from "../../src/console/pages/activity.ts";

Deno.test("outcomeBadge() says what an error's number means", () => {
  const cases = [
    ["protocol_error", "-32602", "failed invalid parameters"],
    ["protocol_error", "-32601", "failed unknown method"],
    ["protocol_error", "-32042", "failed error -32042"],
    ["tool_error", "not_found", "failed not found"],
    ["tool_error", "denied_by_person", "refused denied by person"],
    ["refused", "revoked_token", "refused revoked token"],
    ["ok", null, "ok"],
  ] as const;
  for (const [outcome, code, words] of cases) {
    const text = outcomeBadge(outcome, code).markup.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ").trim();
    assert.equal(text, words);
  }
});
