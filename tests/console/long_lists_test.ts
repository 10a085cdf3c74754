/** Pages of much: lists end after a page and go on from there, and what waits is shown oldest first. */
import assert from "node:assert/strict";
import { createDecisions } from "../../src/console/approvals/decisions.ts";
import { heldCallId, heldMs, putHeldCall } from "../../src/console/approvals/gate.ts";
import { createRuleStore } from "../../src/console/approvals/rule.ts";
import { grants, putsOfGrant, users } from "../../src/oauth/records.ts";
import { digestOf } from "../../src/lib/secrets.ts";
import { createOperatorToken } from "../../src/oauth/access_token.ts";
import { decisionsSection } from "../../src/console/pages/decisions.ts";
import { connect } from "../authorization_server/harness.ts";
import { decodeEntities } from "../fixtures/person.ts";
import { noPart, signInTo, startConsole } from "./harness.ts";

Deno.test("connections are listed by cursor: each once, whatever page it is on", async () => {
  await using harness = await startConsole();
  await connect(harness, { client_name: "Client 000" });
  const [{ value: grant } = assert.fail("no grant")] = await grants.list(harness.storage, { limit: 1 });
  const count = 250;
  for (let index = 1; index < count; index++) {
    const id = index.toString(16).padStart(32, "0");
    const clientName = `Client ${String(index).padStart(3, "0")}`;
    const createdAt = grant.createdAt - Math.floor(index / 5); // some at the same moment
    const puts = putsOfGrant({ ...grant, id, clientName, createdAt, refresh: null }, harness.time.now + 1_000_000);
    assert.ok(await harness.storage.commit({ puts }));
  }
  const owner = await signInTo(harness);
  const seen: string[] = [];
  let pages = 0;
  for (let path: string | null = "/console/connections"; path !== null; pages++) {
    assert.ok(pages < 5);
    const page: string = await (await owner.get(path)).text();
    seen.push(...Array.from(page.matchAll(/<strong>(Client \d{3})<\/strong>/g), ([, name = ""]) => name));
    const next: string | undefined = /href="([^"]+)">Used before these/.exec(page)?.[1];
    path = next === undefined ? null : decodeEntities(next);
  }
  assert.equal(pages, 3);
  assert.equal(seen.length, count);
  assert.equal(new Set(seen).size, count);
});

Deno.test("tokens and people are listed by cursor, too", async () => {
  await using harness = await startConsole();
  const request = { scope: "files:read", lifetimeSeconds: 3_600, userId: "owner" };
  for (let index = 0; index < 120; index++) {
    const made = await createOperatorToken(harness.deps, { ...request, name: `Token ${index}` });
    assert.ok(made.ok);
    const id = `person${String(index).padStart(3, "0")}`;
    const person = { id, passwordHash: "", epoch: "", disabled: false, createdAt: 0, passwordChangedAt: 0 };
    assert.ok(await harness.storage.commit({ puts: [users.put(id, person)] }));
  }
  const owner = await signInTo(harness);
  for (
    const [path, words, pattern] of [
      ["/console/connections", "Made before these", /<strong>(Token \d+)<\/strong>/g],
      ["/console/people", "Further people", /person=(\w+)"/g],
    ] as const
  ) {
    const first = await (await owner.get(path)).text();
    const next = new RegExp(`href="([^"]+)">${words}`).exec(first)?.[1] ?? "";
    const second = await (await owner.get(decodeEntities(next))).text();
    const seen = [first, second].flatMap((
      page,
    ) => [...new Set(Array.from(page.matchAll(pattern), ([, name]) => name))]);
    assert.deepEqual([seen.length, new Set(seen).size], [120, 120], path);
    assert.ok(!second.includes(words));
  }
});

const manyShortLines = "+\n".repeat(25_000);

for (const [effect, onPage, count] of [["a new file", 10, 50], [manyShortLines, 1, 3]] as const) {
  Deno.test(`of ${count} calls that wait, ${onPage} at once are shown, the oldest first, or the one that a link names`, () =>
    checkWaiting(effect, onPage, count));
}

async function checkWaiting(effect: string, onPage: number, count: number): Promise<void> {
  await using harness = await startConsole();
  const { storage, deps: { clock, log } } = harness;
  const rules = createRuleStore({ storage, clock, log });
  const decisions = createDecisions({ storage, clock, log, rules, isLive: () => Promise.resolve(true) });
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const who = { person: "owner", clientId: "client", grantId: "grant", tool: "file_write" };
    const id = heldCallId(who, { index });
    ids.push(id);
    const call = {
      ...who,
      id,
      clientName: "Client",
      places: [`file-${index}.txt`],
      arguments: "{}",
      effect,
      effectDigest: digestOf(effect),
      approver: "person" as const,
      createdAt: clock() + index,
      expiresAt: clock() + heldMs,
      state: "waiting" as const,
    };
    assert.ok(await putHeldCall(storage, call, null));
  }
  const visitor = {
    userId: "owner",
    name: "owner",
    isAdministrator: true,
    mayGrant: null,
    byCompany: false,
    signedInAt: clock(),
    confirmedAt: clock(),
    csrf: "",
    seesOthers: false,
  };
  const shown = async (query = ""): Promise<string> => {
    const visit = {
      visitor,
      query: new URLSearchParams(query),
      now: clock(),
      href: (name: string, values = {}) => `/console/${name}?${new URLSearchParams(values)}`,
    };
    return (await decisionsSection(decisions, noPart).live?.(visit))?.["waiting"]?.markup ?? assert.fail();
  };
  const first = await shown();
  assert.equal(first.match(/<article/g)?.length, onPage);
  assert.equal(/50 calls wait, the oldest first/.test(first), count === 50);
  const last = `file-${onPage - 1}.txt`;
  assert.ok(first.includes("file-0.txt") && first.includes(last) && !first.includes(`file-${onPage}.txt`));
  const linked = await shown(`call=${ids[count - 1]}`);
  const end = linked.indexOf(`file-${count - 1}.txt`);
  assert.ok(end > 0 && end < linked.indexOf("file-0.txt"));
  const seen: string[] = [];
  for (let page: string | undefined = first; page !== undefined;) {
    seen.push(...Array.from(page.matchAll(/<article[^]*?(file-\d+\.txt)/g), ([, name = ""]) => name));
    const next: string | undefined = /href="[^"]*\?([^"]+)">Asked after these/.exec(page)?.[1];
    page = next === undefined ? undefined : await shown(decodeEntities(next));
  }
  assert.deepEqual(seen, ids.map((_, index) => `file-${index}.txt`));
  rules.close();
}
