/** The soak: load by many actors, kills at random moments, quiet looks at the process, and the audit at the end. */
import assert from "node:assert/strict";
import { freePort } from "../fixtures/free_port.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace } from "../fixtures/running_server.ts";
import { type Actor, Cut, type Stage } from "./actor.ts";
import { auditEntries, type RawEntry, readSqlite } from "./audit_storage.ts";
import { auditWorkspace } from "./audit_workspace.ts";
import { createClientsActor } from "./clients.ts";
import { createFilesActor } from "./files.ts";
import { createGrantsActor } from "./grants.ts";
import { createOperatorActor, createToken } from "./operator_tokens.ts";
import { type Random, seeded } from "./random.ts";
import { createReadsActor } from "./reads.ts";
import { createSessionsActor } from "./sessions.ts";
import { type SoakedServer, startSoakedServer } from "./soaked_server.ts";
import { createTasksActor } from "./tasks.ts";
import { type Vitals, vitalsOf } from "./vitals.ts";

/** How a soak goes. */
export interface SoakOptions {
  readonly seed: number;
  readonly kills: number;
  /** From one start to the next kill, on average. */
  readonly secondsBetweenKills: number;
  /** Load without kills after them, between two looks at the memory. */
  readonly steadySeconds: number;
  /** Between two things that an actor does, on average. */
  readonly thinkMilliseconds: number;
  readonly refreshGraceSeconds: number;
  /** Another database than SQLite, and how its entries are read. */
  readonly database?: { readonly url: string; readonly readEntries: () => Promise<RawEntry[]> };
  readonly say: (line: string) => void;
}

/** What a soak saw. What it found broken, it throws. */
export interface SoakReport {
  readonly kills: number;
  readonly counts: ReadonlyMap<string, number>;
  /** At rest, after equal parts of the load without kills. */
  readonly quiet: readonly Vitals[];
}

const looks = 5;
/** Before a kill nobody pauses to think, so that it cuts off as many answers as there are actors. */
const rushMilliseconds = 150;
const ownerScopes = "files:read files:write llm:generate";

/** Runs a soak from the first start to the audit. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const { seed, say } = options;
  const counts = new Map<string, number>();
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  const kills = seeded(seed, "kills");
  await using place = await makeServerPlace();
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  await using ollama = await startOllama({ models: [{ name: "tinyllama", tokenMilliseconds: 60 }] });
  await using server = await startSoakedServer(place, {
    port: freePort(),
    env: environment(options, ollama.url),
    bounds: {
      authorizationServer: { maxUnusedClients: 100_000 },
      mcp: { taskTtlMs: 86_400_000, maxTasksPerPrincipal: 1_000 },
      lifetimes: { refreshGraceSeconds: options.refreshGraceSeconds },
    },
    onLog: requireCleanLog,
    startKillsMilliseconds: startKills(kills, 3),
  });
  await setUpOwner(createPerson(server.url, (url, init) => server.fetch(url, init)), {
    setUpLink: server.setUpLink(),
    stderr: () => "",
  });
  const { token } = await createToken(server, ownerScopes);
  const stage = (name: string): Stage => ({ server, random: seeded(seed, name), count });
  const files = ["desk", "attic", "cellar"].map((name) => createFilesActor(name, stage(name), token));
  const actors: readonly Actor[] = [
    ...files,
    await createGrantsActor("alice", stage("alice"), options.refreshGraceSeconds * 1_000),
    await createGrantsActor("bob", stage("bob"), options.refreshGraceSeconds * 1_000),
    createClientsActor("clients", stage("clients")),
    createSessionsActor("sessions", stage("sessions"), token),
    createTasksActor("tasks", stage("tasks"), token),
    await createReadsActor("reads", stage("reads"), token),
    createOperatorActor("operator", stage("operator")),
  ];
  const load = startLoad(actors, options);
  try {
    for (let number = 1; number <= options.kills; number++) {
      await load.during(wait(options.secondsBetweenKills * 2_000 * kills.next()));
      await load.rush(wait(rushMilliseconds));
      await server.kill(kills.chance(0.2) ? startKills(kills, 1) : []);
      if (number % 10 === 0) say(`${number} kills, ${total(counts)} acknowledged`);
    }
    const quiet: Vitals[] = [];
    for (let look = 1; look <= looks; look++) {
      await load.during(wait(options.steadySeconds * 1_000 / looks));
      const vitals = await load.atRest(() => settledVitals(server));
      quiet.push(vitals);
      say(`at rest, after ${look} of ${looks} parts of the load without kills: ${words(vitals)}`);
    }
    await load.rush(wait(1_000));
    await server.kill([]);
    await load.stop();
    await Promise.all(actors.map((actor) => named(actor, actor.audit())));
    const { code } = await server.stop();
    assert.equal(code, 0, "the server stops in good order");
    const entries = await (options.database?.readEntries() ?? readSqlite(place.dataDir));
    const families = auditEntries(entries, Date.now());
    const fileCount = await auditWorkspace(place.workspaceDir, files.map(({ tree }) => tree()), ["library"]);
    say(`audited: ${fileCount} files, ${[...families].map(([name, number]) => `${number} ${name}`).join(", ")}`);
    return { kills: options.kills + 1, counts, quiet };
  } finally {
    await load.stop().catch(() => {}); // what it found has been thrown already
  }
}

/** Limits out of the way of one busy machine, and lifetimes that outlive the soak: what ends shall end by an act. */
function environment({ database }: SoakOptions, ollamaUrl: string): Record<string, string> {
  return {
    OLLAMA_HOST: ollamaUrl,
    ACCESS_TOKEN_LIFETIME: "86400",
    MCP_RATE_LIMIT: "1000000",
    OAUTH_RATE_LIMIT: "1000000",
    LOG_FORMAT: "json",
    TRUST_PROXY: "1",
    ...(database === undefined ? {} : { DATABASE_URL: database.url }),
  };
}

/** Moments after the spawn at which a start is killed. */
function startKills(random: Random, count: number): number[] {
  return Array.from({ length: count }, () => random.int(400));
}

interface Load {
  /** Waits for `moment` while the actors act; throws what one of them found. */
  during(moment: Promise<void>): Promise<void>;
  /** The same, while the actors act without a pause; they go on like that until whoever waits looks again. */
  rush(moment: Promise<void>): Promise<void>;
  /** Runs `look` while no actor does anything and nothing of theirs is open. */
  atRest<T>(look: () => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

function startLoad(actors: readonly Actor[], { seed, thinkMilliseconds }: SoakOptions): Load {
  let stopping = false;
  let rushing = false;
  let rest: Promise<void> | null = null;
  const acting = new Set<Promise<void>>();
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => {}); // heard of through `during`
  const act = async (actor: Actor): Promise<void> => {
    const random = seeded(seed, `${actor.name} thinks`);
    while (!stopping) {
      await wait(rushing ? 0 : random.next() * 2 * thinkMilliseconds);
      while (rest !== null) await rest;
      if (stopping) break;
      const step = named(actor, actor.step()).catch((error) => {
        if (!(error instanceof Cut)) throw error;
      });
      acting.add(step);
      await step.finally(() => acting.delete(step));
    }
    await actor.rest();
  };
  const acts = actors.map(async (actor) => {
    try {
      await act(actor);
    } catch (error) {
      stopping = true;
      broken.reject(error);
      throw error;
    }
  });
  const over = Promise.allSettled(acts);
  return {
    during: (moment) => {
      rushing = false;
      return Promise.race([moment, broken.promise]);
    },
    rush: (moment) => {
      rushing = true;
      return Promise.race([moment, broken.promise]);
    },
    async atRest(look) {
      const { promise, resolve } = Promise.withResolvers<void>();
      rest = promise;
      try {
        while (acting.size > 0) await Promise.race([Promise.all(acting), broken.promise]);
        for (const actor of actors) await actor.rest();
        return await look();
      } finally {
        rest = null;
        resolve();
      }
    },
    async stop() {
      stopping = true;
      await over;
      await Promise.all(acts);
    },
  };
}

/** Says whose finding it is. */
async function named(actor: Actor, act: Promise<void>): Promise<void> {
  try {
    await act;
  } catch (error) {
    if (error instanceof Cut) throw error;
    throw new Error(`${actor.name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** What the process holds once it closes nothing more. */
async function settledVitals(server: SoakedServer): Promise<Vitals> {
  for (let vitals = await vitalsOf(server.pid());;) {
    await wait(200);
    const next = await vitalsOf(server.pid());
    if (next.descriptors === vitals.descriptors) return next;
    vitals = next;
  }
}

function requireCleanLog(text: string): void {
  const broken = text.split("\n").filter((line) => line.includes('"level":"error"') || line.includes("panicked"));
  if (broken.length > 0) throw new Error(`the server logged errors:\n${broken.slice(0, 5).join("\n")}`);
}

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, each) => sum + each, 0);
}

function words({ residentMegabytes, descriptors }: Vitals): string {
  return `${residentMegabytes?.toFixed(0) ?? "?"} MB resident, ${descriptors ?? "?"} descriptors`;
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
