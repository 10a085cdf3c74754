/** One stored step of a client that connects. It never holds a query, code or token. */
import * as z from "zod";
import { lazyObject } from "../../lib/lazy_object.ts";
import { addressKey } from "../../lib/network.ts";
import { boundedMap } from "../../lib/bounded_map.ts";
import { joinNext } from "../../lib/turns.ts";
import type { Timers } from "../../lib/time.ts";
import type { Foundation, Storage, StorageKey } from "../../storage/mod.ts";

/** In the order of a connection that goes well. */
export const stepKinds = [
  /** A request that no route is for, or by a name or from a page that is not known. */
  "stray",
  /** `/mcp` without a token, which starts OAuth. */
  "reached",
  /** `/mcp` without a token, answered: the public handshake. */
  "handshake",
  "resource_metadata",
  "server_metadata",
  "registration",
  "authorization",
  "sign_in",
  "consent",
  "token",
  "refresh",
  /** `/mcp` with a token that is refused. */
  "refused_token",
  /** GET `/mcp` with a good token: a session's stream. */
  "stream",
  /** A request with a good token; its reason is the method, or why it was refused. */
  "call",
] as const;

export type StepKind = typeof stepKinds[number];

const optionalText = () => z.string().nullable().default(null);

const stepSchema = lazyObject(() => ({
  /** Of the first and the last of its repeats, in milliseconds since the epoch. */
  time: z.number(),
  last: z.number(),
  count: z.number(),
  kind: z.enum(stepKinds),
  outcome: z.enum(["ok", "refused"]),
  /** One of our reasons, `status_404` and the like, or the method of a call. */
  reason: optionalText(),
  address: optionalText(),
  /** The product that the User-Agent begins with. */
  agent: optionalText(),
  /** The client's id. */
  client: optionalText(),
  /** The grant, or the token of the command line: two that share a client's id differ in it. */
  grant: optionalText(),
  /** What it calls itself when it registers, and at `initialize`. */
  name: optionalText(),
  person: optionalText(),
  /** Of discovery and of stray requests; of a refused call, its method. */
  path: optionalText(),
  /**
   * Where the browser is sent back to; of discovery and of stray requests, the name that the server was called by; of
   * a token that another server issued, that server.
   */
  host: optionalText(),
  /**
   * What is known besides: `other_host` and `other_scheme` of the address that the client came by, `direct` and
   * `direct_other_host` where no proxy is known, `forwarded` of a request with a proxy's headers, `below /path` where
   * the server shares its host by that path, `registration_closed`; of what has expired, `clock_jumped` or
   * `clock_steady`.
   */
  sign: optionalText(),
}));

export type Step = z.output<typeof stepSchema>;

/** What a step is made of; everything else is absent. */
export type NewStep = Omit<z.input<typeof stepSchema>, "time" | "last" | "count">;

/** A step that was made now, once. */
export function makeStep(time: number, given: NewStep): Step {
  return stepSchema.parse({ ...given, time, last: time, count: 1 });
}

const saying = ["kind", "outcome", "reason", "address", "agent", "client", "path", "host", "sign", "grant"] as const;

/** Whether a step says nothing that another does not say. */
function isRepeat(step: Step, of: Step): boolean {
  return saying.every((name) => step[name] === of[name]) && (step.kind !== "registration" || step.name === of.name);
}

/** The network that a step came from; calls have none. */
export function networkOf({ address }: Step): string | null {
  return address === null ? null : addressKey(address);
}

/** Before the path below which clients know the server. */
export const belowSign = "below ";

/** Of a request that a proxy passed on. */
export const forwardedSign = "forwarded";

/** Instead of `GET`, of a request that a redirect made of a POST. */
export const postBecameGet = "post_became_get";

/** What every browser counts as. */
export const browserAgent = "browser";

// The steps of the last day: those of this process in memory, with a copy in the storage, and those that other
// instances, and this one before its restart, have stored there. Strangers cause them, so everything is bounded, and
// the storage is written at most once in some seconds.

/** The steps of the last day. */
export type StepLog = ReturnType<typeof openStepLog>;

const keptMs = 86_400_000;
const storeIntervalMs = 5_000;
const segmentSteps = 100;
const maxOwnSegments = 30;
const maxReadSegments = 100;
/** New steps of one network, and of all, in a minute. Repeats are counted with the first of them. */
const maxNetworkSteps = 60;
const maxStepsAMinute = 1_000;
const rateWindowMs = 60_000;
const repeatMs = 600_000;
const maxNetworks = 2_000;

const family = "connection_steps";
const segmentsKey: StorageKey = [family];
const segmentSchema = lazyObject(() => ({ steps: z.array(stepSchema) }));
/** So that the newest come first in key order. */
const latest = 10 ** 14;

interface Segment {
  readonly key: StorageKey;
  readonly startedAt: number;
  readonly steps: Step[];
}

/** Reads what is stored, newest segments first where there are too many; `except` is an instance, which knows its own. */
export async function readStoredSteps(storage: Storage, now: number, except?: string): Promise<readonly Step[]> {
  const stored = await storage.list(segmentsKey, { limit: maxReadSegments });
  const others = stored.filter(({ key }) => except === undefined || key[2]?.startsWith(except) !== true);
  // one that a newer version wrote may be unreadable
  return inOrder(others.flatMap(({ value }) => segmentSchema.safeParse(value).data?.steps ?? []), now);
}

/** Opens the log of this instance; what it has not stored is stored by `close()`. */
export function openStepLog(
  { storage, clock, timers, log, createId }: Foundation & {
    readonly timers: Timers;
    readonly createId: () => string;
  },
) {
  const instance = createId();
  const segments: Segment[] = [];
  const lastOf = boundedMap<string, Step>(maxNetworks);
  let rates = { from: -Infinity, all: 0, own: new Map<string, number>() };
  let stopTimer: (() => void) | undefined;
  const unsaved = new Set<Segment>();
  let isFailing = false;
  let isClosed = false;

  const admits = (network: string): boolean => {
    const now = timers.elapsed();
    if (now - rates.from > rateWindowMs) rates = { from: now, all: 0, own: new Map() };
    const own = rates.own.get(network) ?? 0;
    if (own >= maxNetworkSteps || rates.all >= maxStepsAMinute) return false;
    rates.own.set(network, own + 1);
    rates.all += 1;
    return true;
  };
  const openSegment = (now: number): Segment => {
    const open = segments.at(-1);
    if (open !== undefined && open.steps.length < segmentSteps) return open;
    const order = String(latest - Math.floor(now)).padStart(15, "0");
    const segment = { key: [family, order, `${instance}-${segments.length}`] as const, startedAt: now, steps: [] };
    segments.push(segment);
    for (const { key } of segments.splice(0, segments.length - maxOwnSegments)) {
      storage.commit({ deletes: [key] }).catch(() => {}); // it expires
    }
    return segment;
  };
  const storeSoon = (): void => {
    if (!isClosed) stopTimer ??= timers.after(storeIntervalMs, () => void store());
  };
  const store = joinNext(async (): Promise<void> => {
    stopTimer?.();
    stopTimer = undefined;
    const chosen = [...unsaved].filter((segment) => segments.includes(segment));
    unsaved.clear();
    try {
      // One by one: an entry has a largest size, and a batch too.
      for (const { key, steps, startedAt } of chosen) {
        await storage.commit({ puts: [{ key, value: { steps }, expiresAt: startedAt + keptMs }] });
      }
      isFailing = false;
    } catch (error) {
      for (const segment of chosen) unsaved.add(segment);
      if (!isFailing) log.write("warn", "connection_steps_not_stored", { error: String(error) });
      isFailing = true;
      storeSoon();
    }
  });
  return {
    /** Never throws and never waits. */
    note(given: NewStep): void {
      const now = clock();
      const step = makeStep(now, given);
      const names = [networkOf(step), step.client].filter((name) => name !== null);
      const before = lastOf.get(names[0] ?? "");
      const segment = openSegment(now);
      const isRepeated = before !== undefined && isRepeat(step, before) && now - before.time < repeatMs &&
        names.every((name) => lastOf.get(name) === before) && segment.steps.includes(before);
      if (isRepeated) {
        before.count += 1;
        before.last = now;
        before.name ??= step.name;
      } else {
        if (!admits(names[0] ?? "-")) return;
        segment.steps.push(step);
        for (const name of names) lastOf.set(name, step);
      }
      unsaved.add(segment);
      storeSoon();
    },
    /** Those of all instances, oldest first. Without the storage, those of this process. */
    async read(): Promise<readonly Step[]> {
      const now = clock();
      const own = segments.flatMap(({ steps }) => steps);
      const others = await readStoredSteps(storage, now, instance).catch(() => []);
      return inOrder([...own, ...others], now);
    },
    async close(): Promise<void> {
      isClosed = true;
      await store();
    },
  };
}

function inOrder(steps: readonly Step[], now: number): readonly Step[] {
  return steps.filter(({ last }) => last > now - keptMs).sort((one, other) => one.time - other.time);
}
