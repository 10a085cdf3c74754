/** Troubleshooting names the company's provider where it is the cause. */
import assert from "node:assert/strict";
import { attemptsOf, diagnose } from "../../src/console/connections/report.ts";
import { makeStep, type NewStep } from "../../src/console/connections/step.ts";

const start = 1_800_000_000_000;
const client = "pcc_1";
const cloud = { address: "160.79.104.10", agent: "python-httpx/0.28", client };
const browser = { address: "198.51.100.7", agent: "browser", client };

const causes: readonly (readonly [kind: NewStep["kind"], reasons: readonly string[], cause: string])[] = [
  ["sign_in", ["unreachable", "timed_out", "server_error", "not_json", "too_large", "other_issuer"], "provider_away"],
  ["sign_in", ["expired", "not_yet_valid"], "provider_clock"],
  ["sign_in", ["refused", "groups_left_out", "no_auth_time"], "provider_refused"],
  ["sign_in", ["bad_signature", "wrong_nonce", "other_issuer_answered"], "provider_untrusted"],
  ["sign_in", ["not_allowed"], "person_not_let_in"],
  ["token", ["provider_unavailable"], "provider_away"],
  ["token", ["invalid_identity_assertion", "replayed_identity_assertion"], "assertion_invalid"],
  ["token", ["person_not_admitted"], "assertion_of_stranger"],
  ["refused_token", ["ended_by_provider"], "provider_ended"],
  ["refused_token", ["not_confirmed_by_provider"], "provider_silent"],
];

for (const [kind, reasons, cause] of causes) {
  Deno.test(`the recorder: ${kind} refused for ${reasons.join(", ")} is ${cause}, and names the provider`, async () => {
    for (const reason of reasons) {
      const steps: NewStep[] = [
        { kind: "reached", outcome: "ok", ...cloud },
        ...kind === "sign_in" ? [{ kind: "authorization", outcome: "ok", ...browser, host: "claude.ai" } as const] : [],
        { kind, outcome: "refused", reason, ...kind === "sign_in" ? browser : cloud },
      ];
      const [attempt] = await attemptsOf(steps.map((step, index) => makeStep(start + 1_000 * index, step)));
      assert.ok(attempt);
      const { state, causes: found } = diagnose(attempt, attempt.lastAt + 60_000);
      assert.deepEqual([state, found[0]?.id], ["fault", cause], reason);
      assert.match(JSON.stringify(found[0]), /identity provider/);
    }
  });
}
