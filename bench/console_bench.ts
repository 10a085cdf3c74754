/**
 * `deno task bench:console`: the processor time of each page of the console, and of a second of its event stream, with a
 * million lines in the audit, 1,000 grants, 500 calls that wait and 200 rules. BENCH_LINES changes the first.
 */
import process from "node:process";
import { digestOf, heldCallId, heldMs, maxHeldCalls, putHeldCall } from "../src/approval/held_call.ts";
import { createRuleStore, maxRules } from "../src/approval/rule_store.ts";
import { createChainWriter } from "../src/audit/chain_writer.ts";
import { auditLineEnd, emptyLine, encodeLine } from "../src/audit/line.ts";
import { type Grant, grants, putsOfGrant } from "../src/authorization_server/records/grant.ts";
import { type Installation, openInstallation } from "../src/composition/installation.ts";
import { pause } from "../src/lib/time/pause.ts";
import { signIn } from "../tests/deploy/sign_in.ts";
import { openSignedIn, setUpOwner } from "../tests/fixtures/owner.ts";
import { createPerson } from "../tests/fixtures/person.ts";
import { makeServerPlace, startServer } from "../tests/fixtures/running_server.ts";
import { threadMilliseconds } from "./process_cpu.ts";
import { print } from "./table.ts";

const lines = Number(process.env["BENCH_LINES"] ?? "1000000");
const grantCount = 1_000;
const linesOfBatch = 100;
const dayMs = 86_400_000;
const days = 10;
/** The pages keep some of what they read for 5 s. */
const coldMs = 6_000;
const asksOfPage = 20;
const streamSeconds = 5;
const clock = () => Date.now();
const grantIdOf = (index: number): string => index.toString(16).padStart(32, "0");
const log = { write: () => {}, flush() {} };
const tools = ["file_read", "file_write", "file_edit", "file_list", "file_search", "llm_generate"];

await using place = await makeServerPlace();
const env = { OAUTH_RATE_LIMIT: "1000000000", AUDIT_MAX_BYTES: "4000000000" };
const cookies = new Map<string, string>();
const port = await fill();
await measurePages();

/** Starts a server for its owner and one grant, and fills its storage; gives the port. */
async function fill(): Promise<string> {
  const server = await startServer(place, { env });
  const owner = createPerson(server.url, fetch, cookies);
  await setUpOwner(owner, server);
  await signIn(server.url, owner, "files:write llm:generate");
  await server.stop();
  const opened = await openInstallation({ dataDir: place.dataDir }, clock);
  if (!opened.ok) throw new Error(opened.error.problem);
  await addGrants(opened.value);
  await addLines(opened.value);
  await addHeldCalls(opened.value);
  await addRules(opened.value);
  await opened.value.storage.close();
  return new URL(server.url).port;
}

async function addGrants({ storage }: Installation): Promise<void> {
  const [made] = await grants.list(storage, { limit: 1 });
  if (made === undefined) throw new Error("no grant was made");
  const grant: Grant = made.value;
  for (let index = 0; index < grantCount; index++) {
    const clientName = `Client ${index}`;
    await storage.commit({
      puts: putsOfGrant({ ...grant, id: grantIdOf(index), clientId: `client-${index}`, clientName }, clock() + dayMs),
    });
  }
}

async function addLines({ storage, secrets }: Installation): Promise<void> {
  const end = clock();
  let now = end - days * dayMs;
  const step = days * dayMs / lines;
  const writer = createChainWriter({ storage, secrets, clock: () => now, log }, "bench");
  for (let at = 0; at < lines; at += linesOfBatch) {
    const from = now;
    let text = "";
    for (let line = at; line < at + linesOfBatch; line++) {
      text += encodeLine({
        ...emptyLine,
        time: Math.round(from + (line - at) * step),
        event: "call",
        person: "owner",
        client: `client-${line % grantCount}`,
        grant: grantIdOf(line % grantCount),
        tool: tools[line % tools.length] ?? "",
        target: `projects/area-${line % 1_000}/file-${(line * 7_919) % 100_000}.md`,
        outcome: line % 100 === 99 ? "refused" : "ok",
        code: line % 100 === 99 ? "denied_by_rule" : null,
        durationMs: line % 300,
        requestId: crypto.randomUUID(),
      }) + auditLineEnd;
    }
    now += step * linesOfBatch;
    await writer.add({ from, lines: text, count: linesOfBatch, calls: { ok: 99, refused: 1 } });
  }
  await writer.release();
}

async function addHeldCalls({ storage }: Installation): Promise<void> {
  const lineOf = (index: number): string =>
    `@@ -${index} +${index} @@\n-the old text of a line\n+the new text of a line\n`;
  for (let index = 0; index < maxHeldCalls; index++) {
    const effect = Array.from({ length: 40 }, (_, each) => lineOf(each)).join("");
    const who = { person: "owner", clientId: `client-${index}`, grantId: grantIdOf(index), tool: "file_edit" };
    await putHeldCall(storage, {
      ...who,
      id: heldCallId(who, { index }),
      clientName: `Client ${index}`,
      places: [`projects/file-${index}.md`],
      arguments: JSON.stringify({ index, text: "x".repeat(2_000) }),
      effect,
      effectDigest: digestOf(effect),
      approver: "person",
      createdAt: clock() + index,
      expiresAt: clock() + heldMs,
      state: "waiting",
    }, { version: null });
  }
}

async function addRules({ storage }: Installation): Promise<void> {
  const rules = createRuleStore({ storage, clock, log });
  await rules.change(() =>
    Array.from({ length: maxRules }, (_, index) => ({
      id: grantIdOf(index),
      tool: tools[index % tools.length] ?? "",
      place: `projects/area-${index}`,
      verdict: "ask" as const,
    })), { userId: "owner", address: "" });
  rules.close();
}

async function measurePages(): Promise<void> {
  const server = await startServer(place, { env: { ...env, PORT: port }, args: [] });
  try {
    const owner = createPerson(server.url, fetch, cookies);
    const overview = await openSignedIn(owner, `${server.url}/console`);
    const nav = /<nav[\s\S]*?<\/nav>/.exec(overview.html)?.[0] ?? "";
    const paths = Array.from(nav.matchAll(/href="([^"]+)"/g), ([, path = ""]) => path);
    for (const path of paths) await owner.open(new URL(path, server.url)); // warm
    const spent = async (work: () => Promise<unknown>): Promise<number> => {
      const before = await threadMilliseconds(server.pid) ?? NaN;
      await work();
      return (await threadMilliseconds(server.pid) ?? NaN) - before;
    };
    const idle = await spent(() => pause(streamSeconds * 1_000)) / streamSeconds;
    print(`${lines} lines of audit, ${grantCount} grants, ${maxHeldCalls} held calls, ${maxRules} rules\n`);
    print(
      `idle: ${
        idle.toFixed(1)
      } ms a second\n\npage                      kB   CPU ms: first   then   stream, a second\n`,
    );
    for (const path of [...paths, "/console/audit?target=nowhere", "/console/audit?outcome=refused"]) {
      const address = new URL(path, server.url);
      await pause(coldMs);
      let size = 0;
      const first = await spent(async () => {
        size = (await owner.open(address)).html.length;
      });
      const then = await spent(async () => {
        for (let ask = 0; ask < asksOfPage; ask++) await owner.open(address);
      }) / asksOfPage;
      const stream = await spent(() => follow(address)) / streamSeconds - idle;
      print(
        `${path.padEnd(22)}${(size / 1_000).toFixed(0).padStart(6)}${first.toFixed(1).padStart(16)}` +
          `${then.toFixed(1).padStart(7)}${stream.toFixed(1).padStart(11)}\n`,
      );
    }
  } finally {
    await server.stop();
  }
}

/** Keeps the page's event stream open for some seconds, where it has one. */
async function follow(address: URL): Promise<void> {
  const query = new URLSearchParams(address.search);
  query.set("section", address.pathname.replace(/^\/console\/?/, ""));
  const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ");
  const signal = AbortSignal.timeout(streamSeconds * 1_000);
  try {
    const response = await fetch(new URL(`/console/events?${query}`, address), { headers: { cookie }, signal });
    for await (const _chunk of response.body ?? []);
    await pause(streamSeconds * 1_000, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
