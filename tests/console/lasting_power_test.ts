/** What gives lasting power asks for the passphrase again. */
import assert from "node:assert/strict";
import type { Decisions, HeldCall } from "../../src/console/approvals/decisions.ts";
import { decisionsSection } from "../../src/console/pages/decisions.ts";
import { act, noPart, signInTo, startConsole } from "./harness.ts";

const call: HeldCall = {
  ...{ id: "c", person: "owner", clientId: "x", clientName: "X", grantId: "g", tool: "file_write", places: [] },
  ...{
    arguments: "{}",
    effect: "writes",
    effectDigest: "d",
    approver: "person" as const,
    createdAt: 0,
    expiresAt: 9e12,
  },
  state: "waiting",
};

Deno.test("an approval that lasts asks for the passphrase again, one of this call and a refusal do not", async () => {
  const decided: string[] = [];
  const decisions: Decisions = {
    waiting: () => Promise.resolve([call]),
    decide({ approves, extent }) {
      decided.push(`${approves} ${extent}`);
      return Promise.resolve("decided");
    },
  };
  await using harness = await startConsole([decisionsSection(decisions, noPart)]);
  const owner = await signInTo(harness);
  harness.time.now += 6 * 60_000;
  const fields = { act: "decide", call: "c", effect: "d" };
  for (const extent of ["hour", "always"]) {
    const asked = await act(owner, "/console/decisions", { ...fields, decision: "approve", extent });
    assert.match(await asked.text(), /enter your passphrase again/);
  }
  assert.deepEqual(decided, []);
  await act(owner, "/console/decisions", { ...fields, decision: "deny", extent: "always" });
  await act(owner, "/console/decisions", { ...fields, decision: "approve", extent: "once" });
  assert.deepEqual(decided, ["false always", "true once"]);
});
