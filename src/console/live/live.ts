/** The running calls of every instance, as the console shows and stops them. */
import * as z from "zod";
import { lazyObject } from "../../lib/lazy_object.ts";
import { touchedBy } from "../../audit/mod.ts";
import { isObject } from "../../lib/json.ts";
import { type Clock, createPause, systemTimers, type Timers } from "../../lib/time.ts";
import type { CallWatch, WatchedCall } from "../../mcp/mod.ts";
import { joinNext } from "../../lib/turns.ts";
import { changeEntry, watchEntries } from "../../lib/stored_entries.ts";
import type { Foundation, StorageKey } from "../../storage/mod.ts";

/** The calls that run on every instance, and what stops them. `by` is the person who does it, for the audit. */
export type Live = Awaited<ReturnType<typeof openLive>>;

interface LiveOptions extends Foundation {
  readonly timers?: Timers | undefined;
  readonly createId: () => string;
  /** Whether other instances may have to be asked. */
  readonly hasOthers: boolean;
}

/** Reads the switches before the first call can come. */
export async function openLive(options: LiveOptions) {
  const { log, createId, hasOthers } = options;
  const instance = createId();
  const table = createCallTable(instance, options.clock);
  const switches = createCallSwitches(
    options,
    () => table.cancelAll(({ principal }) => switches.refusal(principal) !== null),
  );
  const report = (cancel: string | null): InstanceReport => {
    const cancelled = cancel !== null && table.cancel(cancel);
    return { instance, calls: table.list(), cancelled };
  };
  const others = hasOthers ? createOtherInstances(options, instance, report) : null;
  await switches.load();
  return {
    /** For the protocol server. */
    callWatch: { refusal: switches.refusal, enter: table.enter } satisfies CallWatch,
    /** The calls that run on all instances that answered, the oldest first. */
    async view(): Promise<readonly LiveCall[]> {
      const reports = [report(null), ...await others?.ask(null) ?? []];
      return reports.flatMap(({ calls }) => calls).sort((a, b) => a.since - b.since);
    },
    /** Cancels a call on the instance where it runs; `false` when it has ended. */
    async cancel(id: string, by: string): Promise<boolean> {
      const cancelled = table.cancel(id) || (await others?.ask(id) ?? []).some((each) => each.cancelled);
      log.write("audit", "call_cancelled", { user: by, outcome: cancelled ? "cancelled" : "not_found" });
      return cancelled;
    },
    switches,
    close(): void {
      switches.close();
      others?.close();
    },
  };
}

const instanceReport = lazyObject(() => ({
  instance: z.string(),
  calls: z.array(z.object({
    /** Names it among the calls of all instances. */
    id: z.string(),
    person: z.string(),
    client: z.string(),
    /** The tool; for other requests the method. */
    tool: z.string(),
    target: z.string().nullable(),
    /** As JSON, cut short. */
    arguments: z.string(),
    /** Milliseconds since the epoch. */
    since: z.number(),
  })).readonly(),
  /** Whether it cancelled the call that the question named. */
  cancelled: z.boolean(),
}));

type InstanceReport = z.infer<typeof instanceReport>;
type LiveCall = Readonly<InstanceReport["calls"][number]>;

const maxListed = 200;
const maxTextCharacters = 60;
const maxArgumentCharacters = 300;
const maxArguments = 12;

/** The calls that run in this process. */
function createCallTable(instance: string, clock: Clock) {
  const running = new Map<
    string,
    { readonly call: WatchedCall; readonly since: number; readonly cancel: () => void }
  >();
  let entered = 0;
  return {
    /** The oldest first. */
    list: (): readonly LiveCall[] =>
      Array.from(running).slice(0, maxListed).map(([id, { call, since }]) => {
        const { request: { method, params }, principal, tool, input } = call;
        return {
          id,
          person: principal.subject,
          client: principal.clientId,
          tool: tool ?? method,
          target: touchedBy(input === undefined ? params : { arguments: input }),
          arguments: argumentsInShort(params),
          since,
        };
      }),
    enter(call: WatchedCall, cancel: () => void): () => void {
      const id = `${instance}-${++entered}`;
      running.set(id, { call, since: clock(), cancel });
      return () => running.delete(id);
    },
    /** `false` when no call of this process has the id. */
    cancel(id: string): boolean {
      const call = running.get(id);
      call?.cancel();
      return call !== undefined;
    },
    cancelAll(fits: (call: WatchedCall) => boolean): void {
      for (const { call, cancel } of [...running.values()]) if (fits(call)) cancel();
    },
  };
}

/** The first arguments, each text cut: enough to recognise a call by, not what a file will hold. */
export function argumentsInShort(params: unknown): string {
  const input = isObject(params) ? params["arguments"] ?? params : {};
  if (!isObject(input)) return "";
  const first = Object.entries(input).filter(([name]) => name !== "_meta").slice(0, maxArguments);
  const short = first.map(([name, value]) => [cut(name, maxTextCharacters), inShort(value)]);
  return cut(JSON.stringify(Object.fromEntries(short)), maxArgumentCharacters);
}

function inShort(value: unknown): unknown {
  if (typeof value === "string") return cut(value, maxTextCharacters);
  if (Array.isArray(value)) return `[${value.length}]`;
  return isObject(value) ? "{…}" : value;
}

function cut(text: string, maxCharacters: number): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…`.toWellFormed() : text;
}

// The switches that stop every call, or those of a client. They are stored, so they survive a restart and count for
// all instances; each instance keeps them in memory and is notified of a change, so that a call pays for one look at a
// variable.

const switches = z.lazy(() => {
  const thrown = z.object({ at: z.number(), by: z.string() });
  return z.object({
    /** Set: no call runs. */
    stopped: thrown.nullable(),
    /** Clients whose calls do not run. */
    paused: z.array(thrown.extend({ client: z.string() })),
  });
});

/** Who stopped what, and when. */
type SwitchState = z.infer<typeof switches>;

const key: StorageKey = ["call_switches", "current"];
/** The oldest go first. */
const maxPausedClients = 1_000;
const allOn: SwitchState = { stopped: null, paused: [] };
const stoppedWords = "An administrator of this server has stopped all calls. Do not repeat the call; tell your user.";
const pausedWords = "An administrator of this server has paused this client. Do not repeat the call; tell your user.";

/** `onChange` is called after each change: calls that run may have to stop. */
export function createCallSwitches(
  { storage, clock, timers, log }: Pick<LiveOptions, "storage" | "clock" | "timers" | "log">,
  onChange: () => void,
) {
  let state = allOn;
  let pausedClients: ReadonlySet<string> = new Set();

  const adopt = (next: SwitchState): void => {
    state = next;
    pausedClients = new Set(next.paused.map(({ client }) => client));
    onChange();
  };
  /** What cannot be read stops what it stopped before. */
  const parse = (value: unknown): SwitchState => value === undefined ? allOn : switches.safeParse(value).data ?? state;
  // One look at a time: of two answers the later one could be the older.
  const load = joinNext(async (): Promise<void> => adopt(parse((await storage.get(key))?.value)));
  const watch = watchEntries(storage, [key], load, { log, timers });
  const change = async (
    event: string,
    fields: { readonly user: string; readonly client?: string },
    next: (before: SwitchState) => Partial<SwitchState>,
  ): Promise<void> => {
    const changed = await changeEntry(storage, key, (value) => {
      const before = parse(value);
      return { ...before, ...next(before) };
    });
    if (changed !== null) await load().catch(() => adopt(changed)); // stored, and then the storage was lost
    log.write("audit", event, fields);
  };
  const without = (paused: SwitchState["paused"], client: string) => paused.filter((each) => each.client !== client);
  return {
    get state() {
      return state;
    },
    load,
    /** Why calls of the principal are stopped; `null` where they are not. */
    refusal({ clientId }: { readonly clientId: string }): string | null {
      if (state.stopped !== null) return stoppedWords;
      return pausedClients.has(clientId) ? pausedWords : null;
    },
    /** Stops every client's calls, running ones included; stored until `resumeAll`. */
    stopAll: (by: string) =>
      change("calls_stopped", { user: by }, ({ stopped }) => ({ stopped: stopped ?? { at: clock(), by } })),
    resumeAll: (by: string) => change("calls_resumed", { user: by }, () => ({ stopped: null })),
    pauseClient: (client: string, by: string) =>
      change("client_paused", { user: by, client }, ({ paused }) => ({
        paused: [...without(paused, client), { client, at: clock(), by }].slice(-maxPausedClients),
      })),
    resumeClient: (client: string, by: string) =>
      change("client_resumed", { user: by, client }, ({ paused }) => ({ paused: without(paused, client) })),
    close: () => watch.stop(),
  };
}

// Asks the other instances through the storage what runs there, or to cancel a call. Each one that is there writes an
// answer; after a bounded time the asker goes on with those that came.

const asksKey: StorageKey = ["live_ask", "current"];
const questions = z.lazy(() => z.array(z.object({ id: z.string(), from: z.string(), cancel: z.string().nullable() })));
/** How long the asker waits for the slowest instance. */
const answerMs = 1_400;
/** How often it waits that long for instances that it does not know; otherwise until those have answered that did. */
const searchEveryMs = 10_000;
const lookMs = 100;
/** Questions and answers are gone after that; some of it is for clocks that are apart. */
const lifetimeMs = 180_000;
const maxQuestions = 20;
const maxInstances = 100;

/** `report` answers a question of another instance. */
function createOtherInstances(
  { storage, clock, timers = systemTimers, log, createId }: LiveOptions,
  instance: string,
  report: (cancel: string | null) => InstanceReport,
) {
  const pause = createPause(timers);
  const answered = new Set<string>();
  let known: readonly string[] = [];
  let searchedAt = -Infinity;
  const answersKey = (id: string): StorageKey => ["live_answer", id];

  const look = async (): Promise<void> => {
    const asked = questions.safeParse((await storage.get(asksKey))?.value).data ?? [];
    const open = asked.filter(({ id, from }) => from !== instance && !answered.has(id));
    answered.clear();
    for (const { id } of asked) answered.add(id);
    for (const { id, cancel } of open) {
      await storage.commit({
        puts: [{ key: [...answersKey(id), instance], value: report(cancel), expiresAt: clock() + lifetimeMs }],
      });
    }
  };
  const watch = watchEntries(storage, [asksKey], look, { log, timers });

  return {
    /** The reports of the others; `cancel` is the id of a call to cancel. */
    async ask(cancel: string | null): Promise<readonly InstanceReport[]> {
      const id = createId();
      await changeEntry(storage, asksKey, (value) => {
        const before = questions.safeParse(value).data ?? [];
        return [...before, { id, from: instance, cancel }].slice(-maxQuestions);
      }, { expiresAt: clock() + lifetimeMs });
      const begin = timers.elapsed();
      const isSearch = begin - searchedAt > searchEveryMs;
      for (;;) {
        await pause(lookMs);
        const entries = await storage.list(answersKey(id), { limit: maxInstances });
        const reports = entries.flatMap(({ value }) => instanceReport.safeParse(value).data ?? []);
        const found = reports.map((each) => each.instance);
        if (timers.elapsed() - begin >= answerMs) {
          known = found;
          searchedAt = begin;
          return reports;
        }
        const isEnough = cancel === null
          ? !isSearch && known.every((each) => found.includes(each))
          : reports.some(({ cancelled }) => cancelled);
        if (isEnough) return reports;
      }
    },
    close: () => watch.stop(),
  };
}
