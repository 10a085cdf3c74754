/**
 * `deno task bench console`: the processor time of each page of the console, and of a second of its event stream, with a
 * million lines in the audit, 1,000 grants, 500 calls that wait and 200 rules. BENCH_LINES changes the first.
 */
import process from "node:process";
import { pause } from "../src/lib/time.ts";
import { fillAudit, fillConsole, loadedGrants, loadedHeldCalls, loadedRules } from "../tests/fixtures/console_load.ts";
import { signIn } from "../tests/deploy/sign_in.ts";
import { openSignedIn, setUpOwner } from "../tests/fixtures/owner.ts";
import { createPerson } from "../tests/fixtures/person.ts";
import { makeServerPlace, startServer } from "../tests/fixtures/running_server.ts";
import { cpuSeconds } from "./process_cpu.ts";
import { print } from "./table.ts";

const lines = Number(process.env["BENCH_LINES"] ?? "1000000");
const days = 10;
/** The pages keep some of what they read for 5 s. */
const coldMs = 6_000;
const asksOfPage = 20;
const streamSeconds = 5;

await using place = await makeServerPlace();
const env = { OAUTH_RATE_LIMIT: "1000000000", AUDIT_MAX_BYTES: "4000000000" };
const cookies = new Map<string, string>();
const port = await fill();
await measurePages();

/** Fills the storage of a server with an owner and one grant; gives the port. */
async function fill(): Promise<string> {
  await fillAudit(place.dataDir, { lines, days });
  const server = await startServer(place, { env });
  const owner = createPerson(server.url, fetch, cookies);
  await setUpOwner(owner, server);
  await signIn(server.url, owner, "files:write llm:generate");
  await server.stop();
  await fillConsole(place.dataDir);
  return new URL(server.url).port;
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
      const before = cpuSeconds(server.pid) ?? NaN;
      await work();
      return ((cpuSeconds(server.pid) ?? NaN) - before) * 1_000;
    };
    const idle = await spent(() => pause(streamSeconds * 1_000)) / streamSeconds;
    print(`${lines} lines of audit, ${loadedGrants} grants, ${loadedHeldCalls} held calls, ${loadedRules} rules\n`);
    print(
      `idle: ${
        idle.toFixed(1)
      } ms a second\n\npage                      kB   CPU ms: first   then   stream, a second\n`,
    );
    for (const path of [...paths, "/console/activity?target=nowhere", "/console/activity?outcome=refused"]) {
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
