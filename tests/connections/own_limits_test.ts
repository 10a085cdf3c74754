/** Troubleshooting blames neither the client nor the person for the server's own limits, and names what it knows. */
import assert from "node:assert/strict";
import { attemptsOf, diagnose } from "../../src/console/connections/report.ts";
import { makeStep, type NewStep } from "../../src/console/connections/step.ts";

const rows: readonly (readonly [kind: NewStep["kind"], reason: string, cause: string, words: RegExp])[] = [
  ["authorization", "too_many_fetches", "client_document_unreachable", /wait a minute/i],
  ["sign_in", "busy", "throttled", /too many sign-ins at once/],
  ["sign_in", "disabled", "account_disabled", /account is disabled/],
  ["sign_in", "disabled_user", "account_disabled", /account is disabled/],
  ["token", "user_not_active", "user_not_active", /groups lost the rights/],
  ["refresh", "user_not_active", "user_not_active", /groups lost the rights/],
];

for (const [kind, reason, cause, words] of rows) {
  Deno.test(`the recorder: ${kind} refused for ${reason} is ${cause}`, async () => {
    const step = { kind, outcome: "refused", reason, address: "198.51.100.7", agent: "browser", client: "c" } as const;
    const [attempt] = await attemptsOf([makeStep(1_800_000_000_000, step)]);
    assert.ok(attempt);
    const [found] = diagnose(attempt, attempt.lastAt + 60_000).causes;
    assert.equal(found?.id, cause);
    assert.match(JSON.stringify(found), words);
  });
}
