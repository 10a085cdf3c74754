/** What gives lasting power asks for the passphrase again. */
import assert from "node:assert/strict";
import type { Decisions } from "../../src/console/approvals/decisions.ts";
import type { HeldCall } from "../../src/console/approvals/gate.ts";
import { activitySection } from "../../src/console/pages/activity.ts";
import { changeSection, filesSection } from "../../src/console/pages/files.ts";
import { connectionsSection, whySection } from "../../src/console/pages/connections.ts";
import { decisionsSection } from "../../src/console/pages/decisions.ts";
import { overviewSection } from "../../src/console/pages/overview.ts";
import { peopleSection } from "../../src/console/pages/people.ts";
import { rulesSection } from "../../src/console/pages/rules.ts";
import { settingsSection } from "../../src/console/pages/settings_in_force.ts";
import type { Section } from "../../src/console/pages/section.ts";
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

/** Acts that do not ask: they take power away, or change what can be changed back. */
const unasked: Readonly<Record<string, string>> = {
  "activity cancel": "ends a call",
  "activity pause": "keeps a client from calling",
  "change undo": "a change of files, which can be undone in turn",
  "connections end": "removes access",
  "connections refuse": "removes a client that waits",
  "files restore": "a change of files, which can be undone",
  "files undo": "a change of files, which can be undone in turn",
  "people withdraw": "ends an invitation",
};

Deno.test("every act of the console asks for the passphrase again, but for those that give no power", () => {
  // what the sections are made of: no act runs
  const known = new Map<unknown, unknown>([["map", () => []], [Symbol.toPrimitive, () => "https://a.example"]]);
  const anything: never = new Proxy(Object.assign(() => anything, { tools: null }), {
    get: (_, name) => known.get(name) ?? anything,
  }) as never;
  const makers = { activitySection, changeSection, connectionsSection, decisionsSection, filesSection } as const;
  const others = { overviewSection, peopleSection, rulesSection, settingsSection, whySection } as const;
  const all: Readonly<Record<string, (...parts: never[]) => Section>> = { ...makers, ...others };
  const wired = Deno.readTextFileSync("src/console/pages/console.ts").matchAll(/^ +(\w+Section)\(/gm);
  assert.deepEqual(Array.from(wired, ([, name]) => name).sort(), Object.keys(all).sort());
  const acts = Object.values(all).flatMap((make) => {
    const { name, acts = {} } = make(anything, anything, anything);
    return Object.entries(acts).map(([act, { confirm }]) => [`${name} ${act}`, confirm] as const);
  });
  assert.ok(acts.length > 20, `${acts.length} acts`);
  const silent = acts.flatMap(([name, confirm]) => confirm === undefined ? [name] : []);
  assert.deepEqual(silent.sort(), Object.keys(unasked).sort());
});
