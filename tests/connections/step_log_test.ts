/** Steps in memory and in the storage: bounded, shared, and without secrets. */
import assert from "node:assert/strict";
import { createAttemptRecorder } from "../../src/console/connections/recorder.ts";
import { type NewStep, openStepLog, readStoredSteps } from "../../src/console/connections/step.ts";
import type { Storage } from "../../src/storage/port.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { virtualTimers } from "../fixtures/virtual_timers.ts";

const silent = { write: () => {}, flush: () => {} };
const step = (index: number, more: Partial<NewStep> = {}): NewStep => ({
  kind: "reached",
  outcome: "ok",
  address: `203.0.${Math.floor(index / 250)}.${index % 250}`,
  agent: "client/1",
  ...more,
});

async function withStorage(run: (storage: Storage, clock: () => number) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  const clock = () => 1_800_000_000_000;
  const storage = openSqliteStorage({ path: `${directory}/db`, clock });
  try {
    await run(storage, clock);
  } finally {
    await storage.close();
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("steps are stored together every few seconds, and are there after a restart and on other instances", async () => {
  await withStorage(async (storage, clock) => {
    const timers = virtualTimers();
    let writes = 0;
    const counted = {
      ...storage,
      commit: (batch: Parameters<Storage["commit"]>[0]) => (writes += 1, storage.commit(batch)),
    };
    const counting = { ...counted, list: storage.list.bind(storage) };
    const open = () =>
      openStepLog({ storage: counting, clock, timers, log: silent, createId: () => crypto.randomUUID() });
    const [one, other] = [open(), open()];
    const before = await storage.changeCount();
    for (let index = 0; index < 50; index += 1) one.note(step(index));
    other.note(step(50));
    assert.equal(writes, 0);
    timers.advance(5_000);
    await one.close();
    await other.close();
    assert.equal(writes, 2);
    assert.equal(await storage.changeCount(), before, "no token is looked up again for it");
    const restarted = open();
    assert.equal((await restarted.read()).length, 51);
    assert.equal((await readStoredSteps(storage, clock())).length, 51);
    await restarted.close();
  });
});

Deno.test("repeats are counted, and strangers fill neither memory nor storage", async () => {
  await withStorage(async (storage, clock) => {
    const timers = virtualTimers();
    const log = openStepLog({ storage, clock, timers, log: silent, createId: () => "one" });
    for (let index = 0; index < 1_000; index += 1) log.note(step(0));
    const [repeated, ...more] = await log.read();
    assert.deepEqual([repeated?.count, more.length], [1_000, 0]);
    for (let index = 0; index < 500; index += 1) log.note(step(1, { path: `/p${index}` }));
    assert.ok((await log.read()).length <= 61, "one network has a share");
    for (let minutes = 0; minutes < 5; minutes += 1) {
      timers.advance(61_000);
      for (let index = 0; index < 5_000; index += 1) log.note(step(index, { path: `/${minutes}` }));
    }
    assert.ok((await log.read()).length <= 3_000);
    await log.close();
    assert.ok((await readStoredSteps(storage, clock())).length <= 3_000);
  });
});

Deno.test("without its storage the steps stay in memory, and are stored when it is back", async () => {
  await withStorage(async (storage, clock) => {
    const timers = virtualTimers();
    let isLost = true;
    const failing = { commit: () => Promise.reject(new Error("lost")), list: () => Promise.reject(new Error("lost")) };
    const lossy = new Proxy(storage, {
      get: (target, name) => Reflect.get(isLost && name in failing ? failing : target, name).bind(target),
    });
    const log = openStepLog({ storage: lossy, clock, timers, log: silent, createId: () => "one" });
    log.note(step(1));
    timers.advance(5_000);
    await new Promise((resolve) => setTimeout(resolve));
    assert.equal((await log.read()).length, 1);
    isLost = false;
    await log.close();
    assert.equal((await readStoredSteps(storage, clock())).length, 1);
  });
});

Deno.test("an entry that cannot be read hides no other", async () => {
  await withStorage(async (storage, clock) => {
    await storage.commit({
      puts: [{ key: ["connection_steps", "000", "newer"], value: { steps: [{ shape: "new" }] } }],
    });
    const log = openStepLog({ storage, clock, timers: virtualTimers(), log: silent, createId: () => "one" });
    log.note(step(1));
    await log.close();
    assert.equal((await readStoredSteps(storage, clock())).length, 1);
  });
});

function startRecorder() {
  const steps: NewStep[] = [];
  const recorder = createAttemptRecorder({
    note: (each) => steps.push(each),
    isOwnHost: () => true,
    isOpen: true,
    isDiskFull: () => Promise.resolve(false),
    isDirect: false,
    isClockSteady: () => true,
    elapsed: () => 0,
  });
  return { steps, recorder };
}

Deno.test("nothing that a stranger writes is kept but plain names, hosts and paths", () => {
  const { steps, recorder } = startRecorder();
  const seen = (headers: Readonly<Record<string, string>>, path = "/mcp"): NewStep | undefined => {
    const request = new Request(`https://a.example${path}`, { method: "POST", headers });
    if (path === "/mcp") recorder.noteStranger(request, { address: "::1" }, { status: 200, reason: null });
    else recorder.noteForeign(request, { address: "::1" }, "unknown_host");
    return steps.at(-1);
  };
  const agents = [
    ["claude-code/2.1.0 (cli)", "claude-code/2.1.0"],
    ["Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko)", "browser"],
    ["", "none"],
    ["<script>alert(1)</script>", "other"],
    ["eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.eyJhIjoxfQ.c2ln", "other"],
    ["\u00ADgnp", "other"],
    ["a".repeat(500), "other"],
  ] as const;
  for (const [agent, kept] of agents) assert.equal(seen({ "user-agent": agent })?.agent, kept, agent);
  const caller = { clientId: "c", subject: "ada", grantId: "g" };
  const named = (name: string): string | null | undefined => (recorder.noteName(caller, name), steps.at(-1)?.name);
  assert.equal(named("a\u0007b\n\u202Ec"), "a b c");
  assert.equal(named("x".repeat(1_000))?.length, 60);
  assert.equal(seen({ "x-forwarded-host": "Example.com:8443" })?.host, "example.com:8443");
  assert.equal(seen({ "x-forwarded-host": "<b>" })?.host, null);
  assert.equal(seen({}, "/api/mcp")?.path, "/api/mcp");
  for (const path of ["/pct_SECRETSECRET", "/mcp/eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9", "/%0a"]) {
    assert.equal(seen({}, path)?.path, "(another path)", path);
  }
});

Deno.test("of a request neither query, code nor token becomes part of a step", async () => {
  const { steps, recorder } = startRecorder();
  const peer = { address: "203.0.113.1" };
  const secret = "S3cret";
  for (
    const path of [
      `/oauth/authorize?client_id=x&state=${secret}`,
      `/oauth/token?code=${secret}`,
      `/.well-known/oauth-protected-resource/${secret}?a=${secret}`,
      `/sse?token=${secret}`,
      `/${secret}`,
    ]
  ) {
    const request = new Request(`https://mcp.test${path}`, {
      method: path.includes("authorize") || path.includes("well-known") || path.includes("sse") ? "GET" : "POST",
      headers: { authorization: `Bearer ${secret}`, cookie: secret, host: "mcp.test" },
    });
    await recorder.around(request, peer, () => new Response(null, { status: 404 }));
    recorder.noteStranger(request, peer, { status: 401, reason: "malformed_token" });
  }
  assert.ok(steps.length >= 8);
  assert.doesNotMatch(JSON.stringify(steps), new RegExp(secret));
});

Deno.test("a client that calls and calls costs no step", () => {
  const { steps, recorder } = startRecorder();
  const call = { subject: "owner", clientId: "pcc_1", grantId: "g", outcome: "ok" as const };
  for (let index = 0; index < 1_000; index += 1) {
    recorder.noteCall({ ...call, method: "tools/list" });
    recorder.noteCall({ ...call, method: "tools/call" });
  }
  assert.deepEqual(steps.map(({ reason }) => reason), ["tools/list", "tools/call"]);
});
