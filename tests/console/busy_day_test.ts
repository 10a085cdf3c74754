/** The figures of the last day where it had more calls than the pages count: they say since when they are. */
import assert from "node:assert/strict";
import { emptyLine, type FoundLine } from "../../src/audit/recorder.ts";
import { createDayOfCalls } from "../../src/console/pages/day_of_calls.ts";
import { rulesSection } from "../../src/console/pages/rules.ts";
import type { ConsoleSources } from "../../src/console/pages/section.ts";
import { createOperatorToken } from "../../src/oauth/access_token.ts";
import { connect } from "../authorization_server/harness.ts";
import { act, type ConsoleHarness, invitePerson, searchIn, signInTo, startConsole } from "./harness.ts";

const now = 1_800_000_000_000;
const hour = 3_600_000;

function callAt(time: number, person: string, grant: string, more: Partial<FoundLine> = {}): FoundLine {
  const line = { ...emptyLine, event: "call", tool: "file_read", client: "portcullis-cli", outcome: "ok" };
  return { ...line, arguments: null, instance: "1", batch: 1, time, person, grant, ...more };
}

/** One a second until `now`. */
function callsUntil(end: number, count: number, grant: string, more: Partial<FoundLine> = {}): readonly FoundLine[] {
  return Array.from({ length: count }, (_, index) => callAt(end - index * 1_000, "owner", grant, more));
}

async function tokenOf(harness: ConsoleHarness, userId: string, name: string): Promise<string> {
  const made = await createOperatorToken(harness.deps, { scope: "files:read", lifetimeSeconds: 86_400, userId, name });
  return made.ok ? made.value.summary.id : assert.fail();
}

/** What the row of a token says of its use, and the heading of its count. */
async function useOf(browser: Awaited<ReturnType<typeof signInTo>>, name: string): Promise<readonly (string | null)[]> {
  const page = await (await browser.get("/console/connections")).text();
  const row = page.split("<tr>").find((each) => each.includes(`<strong>${name}</strong>`)) ?? assert.fail(page);
  const [, lastUse = null] = /data-label="Last used">(?:<time[^>]*>)?([^<]*)</.exec(row) ?? [];
  const [, heading = null, count = null] = /data-label="(Calls[^"]*)">([^<]*)</.exec(row) ?? [];
  return [lastUse, heading, count];
}

Deno.test("figures of a quiet day are of 24 hours, of a busy one since when its calls are counted", async () => {
  const lines: FoundLine[] = [];
  await using harness = await startConsole([], { lines });
  await connect(harness, { client_name: "A client" });
  const owner = await signInTo(harness);
  const secret = await invitePerson(harness, owner, "ada");
  const ada = await signInTo(harness, { username: "ada", secret });
  const [busy, early, never] = [
    await tokenOf(harness, "owner", "busy"),
    await tokenOf(harness, "owner", "early"),
    await tokenOf(harness, "owner", "never"),
  ];
  const own = await tokenOf(harness, "ada", "ada's");
  lines.push(callAt(now - 3 * hour, "owner", early), callAt(now - 2 * hour, "ada", own), ...callsUntil(now, 9, busy));
  assert.ok(never !== early);
  assert.deepEqual(await useOf(owner, "early"), ["3 hours ago", "Calls, 24 h", "1"]);
  assert.deepEqual(await useOf(owner, "never"), ["not in the last 24 hours", "Calls, 24 h", "0"]);
  assert.deepEqual(await useOf(owner, "A client"), ["just now", "Calls, 24 h", "0"]); // when it was allowed
  const overviewOf = async (browser: typeof owner) => (await browser.get("/console")).text();
  assert.match(await overviewOf(ada), /1 call in the last 24 hours/);

  // what is read anew joins what was read before: a day becomes busy while its pages are open
  for (const [later, count] of [[5_000_000, 4_980], [5_005_000, 30]] as const) {
    harness.time.now = now + later;
    lines.push(...callsUntil(harness.time.now, count, busy));
    const first = [...lines].sort((one, other) => other.time - one.time)[4_999]?.time ?? 0;
    const isBusy = lines.length > 5_000;
    const since = isBusy ? `since ${new Date(first).toISOString().slice(11, 19)} UTC` : null;
    const [heading, unused] = [
      `Calls${since === null ? ", 24 h" : ` ${since}`}`,
      `not ${since ?? "in the last 24 hours"}`,
    ];
    assert.deepEqual((await useOf(owner, "early")).slice(0, 2), [isBusy ? unused : "4 hours ago", heading]);
    assert.deepEqual(await useOf(owner, "never"), [unused, heading, "0"]);
    assert.equal((await useOf(owner, "busy"))[1], heading);
    assert.deepEqual(await useOf(owner, "A client"), [isBusy ? `${unused}; renewed ` : "1 hour ago", heading, "0"]);
    const page = await overviewOf(ada);
    if (isBusy) assert.match(page, new RegExp(`No client has called a tool ${since}\\.`));
    assert.equal(page.includes("in the last 24 hours"), !isBusy);
    assert.equal((await overviewOf(owner)).includes(`Clients are counted ${since}: earlier calls are Others.`), isBusy);
  }
  // and stays so when all is read again, and when its lines are of no calls
  harness.time.now += 700_000;
  assert.match(String((await useOf(owner, "early"))[0]), /^not since \d\d:\d\d:\d\d UTC$/);
  lines.push(...callsUntil(harness.time.now, 10_001, busy, { event: "sign_in", tool: null }));
  harness.time.now += 700_000;
  assert.match(String((await useOf(owner, "never"))[0]), /^not since \d\d:\d\d:\d\d UTC$/);
  assert.deepEqual((await useOf(ada, "ada&#39;s")).slice(2), ["0"]);
});

Deno.test("the trial of a rule says of which calls it is", async () => {
  for (
    const [count, words] of [[20, /of 20 calls in the last 24 hours\./], [5_100, /of 5000 calls since [\d:]{8} UTC\./]]
  ) {
    const lines = callsUntil(now, Number(count), "g");
    const sources = {
      ...{ search: searchIn(lines), clock: () => now, tools: [{ name: "file_read", annotations: {} }] },
      administration: { access: () => Promise.resolve({ grants: [] }), users: () => Promise.resolve([]) },
      rules: { current: [], load: () => Promise.resolve() },
    } as unknown as ConsoleSources;
    await using harness = await startConsole([rulesSection(sources, createDayOfCalls(sources))]);
    const owner = await signInTo(harness);
    const fields = { act: "add", verdict: "deny", tool: "file_read", trial: "yes" };
    assert.match(await (await act(owner, "/console/rules", fields)).text(), words as RegExp);
  }
});
