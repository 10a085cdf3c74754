/** The fleet: instances that come and go, the network between them and their clients, and what the checks collect. */
import type { App } from "../../src/app/app.ts";
import type { Storage } from "../../src/storage/port.ts";
import { type Random, seeded } from "../soak/random.ts";
import { limits, serverUrl, startInstance } from "./instance.ts";
import { waitFor } from "./native_work.ts";
import type { PreparedState } from "./prepared_state.ts";
import { SimulatedDatabase } from "./simulated_database.ts";
import {
  Announcements,
  fairWeather,
  openCalmStorage,
  openSimulatedStorage,
  type Weather,
} from "./simulated_storage.ts";
import { createStoredInvariants } from "./stored_invariants.ts";
import { Host, VirtualTime } from "./virtual_time.ts";

/** A place for an instance: the process there may end and be started again. */
export interface Slot {
  readonly index: number;
  readonly weather: Weather;
  readonly wallOffset: number;
  readonly rate: number;
  host: Host;
  /** `null` while it starts, and once it is killed. */
  app: App | null;
  readonly open: Set<() => void>;
}

/** What a client got. A request whose answer never came gives `null`: it may have been served. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Whether the client hung up before the end. */
  readonly isCut: boolean;
}

/** How a request is sent. */
export interface RequestOptions {
  readonly address: string;
  /** The client hangs up after so long. */
  readonly cutAfterMs?: number;
}

/** What a seed decides before it begins. */
export interface FleetOptions {
  readonly seed: number;
  readonly prepared: PreparedState;
  readonly wallOffsets: readonly number[];
  readonly asksForChangeCount: boolean;
  /** Between an instance and its storage, for tests of the checks themselves. */
  readonly breakStorage?: (storage: Storage) => Storage;
}

const clientTimeoutsMs = [4_000, 10_000, 60_000] as const;
/** A wall clock within this of the right time is right enough for every lifetime. */
const clockToleranceMs = 150_000;
/** The clocks of instances may be apart by so much. */
const maxClockSpreadMs = 90_000;

/** Makes it; {@link Fleet.start} starts the instances. */
export class Fleet {
  readonly time = new VirtualTime();
  readonly database: SimulatedDatabase;
  readonly slots: Slot[] = [];
  readonly violations: string[] = [];
  readonly counts = new Map<string, number>();
  /** The actors come to their ends. */
  isEnding = false;
  /** Nothing goes wrong in this seed. */
  isCalm = false;
  incarnations = 0;
  readonly #options: FleetOptions;
  readonly #announcements = new Announcements();
  readonly #network: Random;
  #clocksWrongAt = -Infinity;
  #lastError = "";
  /** A mark of all that happened, without what is random by nature. */
  trace = 0;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#network = seeded(options.seed, "network");
    this.database = new SimulatedDatabase(options.prepared.snapshot);
    const check = createStoredInvariants((problem) => this.violate(problem));
    this.database.onChange = (change) => {
      check(change);
      if (!change.isSwept) this.#announcements.announce(change.keyText);
    };
    const chance = seeded(options.seed, "clocks");
    for (const [index, wallOffset] of options.wallOffsets.entries()) {
      const rate = 1 + (chance.next() - 0.5) / 5_000;
      const host = new Host(this.time, { name: `${index}`, wallOffset, rate });
      host.isKilled = true;
      this.slots.push({ index, wallOffset, rate, host, app: null, weather: { ...fairWeather }, open: new Set() });
    }
  }

  violate(problem: string): void {
    this.violations.push(`at ${(this.time.now / 1_000).toFixed(3)} s: ${problem}`);
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  note(what: string): void {
    let hash = this.trace;
    const text = `${this.time.now.toFixed(3)} ${what}`;
    for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0;
    this.trace = hash;
  }

  random(name: string): Random {
    return seeded(this.#options.seed, name);
  }

  /** Whether no wall clock was wrong since then: only then do lifetimes say what must still be alive. */
  clocksRightSince(moment: number): boolean {
    this.noteClocks();
    return this.#clocksWrongAt < moment;
  }

  noteClocks(): void {
    const isWrong = this.slots.some(({ host }) => !host.isKilled && Math.abs(host.wallOffset) > clockToleranceMs);
    if (isWrong || this.clockSpreadMs > maxClockSpreadMs) this.#clocksWrongAt = this.time.now;
  }

  /** How far apart the clocks of two instances may be now. */
  get clockSpreadMs(): number {
    const offsets = this.slots.map(({ host, rate }) => host.wallOffset + (rate - 1) * this.time.now);
    return Math.max(...offsets) - Math.min(...offsets);
  }

  async start(slot: Slot): Promise<void> {
    const host = new Host(this.time, { name: `${slot.index}`, wallOffset: slot.wallOffset, rate: slot.rate });
    slot.host = host;
    this.incarnations += 1;
    const storage = openSimulatedStorage({
      time: this.time,
      host,
      database: this.database,
      announcements: this.#announcements,
      random: seeded(this.#options.seed, `storage ${this.incarnations}`),
      weather: slot.weather,
      asksForChangeCount: this.#options.asksForChangeCount,
    });
    const { breakStorage = (whole) => whole } = this.#options;
    // What is read before the first request comes at once: the simulation's time stands still until the app is there.
    const calm = openCalmStorage(this.database, host.clock);
    const whole = breakStorage(storage);
    let isStarting = true;
    const app = await waitFor(startInstance({
      storage: { ...whole, get: (key) => isStarting ? calm.get(key) : whole.get(key) },
      timers: host.timers,
      clock: host.clock,
      onLine: (level, event, fields) => this.#readLine(level, event, JSON.stringify(fields)),
    }));
    isStarting = false;
    if (slot.host === host && !host.isKilled) slot.app = app;
  }

  kill(slot: Slot): void {
    slot.host.isKilled = true;
    slot.app = null;
    for (const end of [...slot.open]) end();
    slot.open.clear();
  }

  /** Those that can be reached. */
  get running(): readonly Slot[] {
    return this.slots.filter(({ app }) => app !== null);
  }

  request(slot: Slot, path: string, init: RequestInit, { address, cutAfterMs }: RequestOptions): Promise<Reply | null> {
    const { app, host } = slot;
    const latency = (): number => 0.5 + 20 * this.#network.next();
    return new Promise((resolve) => {
      let isDone = false;
      const controller = new AbortController();
      let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
      const stops: (() => void)[] = [];
      const finish = (reply: Reply | null): void => {
        if (isDone) return;
        isDone = true;
        for (const stop of stops) stop();
        slot.open.delete(onKill);
        this.note(`${slot.index} ${path} ${reply?.status ?? "lost"}`);
        resolve(reply);
      };
      const onKill = (): void => void this.time.schedule(latency(), () => finish(null));
      if (app === null) return void this.time.schedule(latency(), () => finish(null));
      slot.open.add(onKill);
      const hangUp = (): void => {
        controller.abort();
        reader?.cancel().catch(() => {});
      };
      let text = "";
      let head: { readonly status: number; readonly headers: Headers } | undefined;
      stops.push(this.time.schedule(this.#network.pick(clientTimeoutsMs), () => {
        this.time.schedule(0, hangUp, host);
        finish(null);
      }));
      if (cutAfterMs !== undefined) {
        stops.push(this.time.schedule(cutAfterMs, () => {
          this.time.schedule(0, hangUp, host);
          finish(head === undefined ? null : { ...head, text, isCut: true });
        }));
      }
      const serve = async (): Promise<void> => {
        const request = new Request(new URL(path, serverUrl), {
          redirect: "manual",
          ...init,
          signal: controller.signal,
        });
        const response = await app.fetch(request, { address });
        const { status, headers } = response;
        if (status === 500) this.violate(`${path} answered 500 after the log line ${this.#lastError}`);
        head = { status, headers };
        if (response.body !== null) {
          reader = response.body.getReader();
          const decoder = new TextDecoder();
          for (let part = await reader.read(); !part.done; part = await reader.read()) {
            text += decoder.decode(part.value);
          }
        }
        this.time.schedule(latency(), () => finish({ status, headers, text, isCut: false }));
      };
      this.time.schedule(latency(), () => {
        if (isDone) return;
        serve().catch((error) => controller.signal.aborted || this.violate(`${path} threw ${error?.stack}`));
      }, host);
    });
  }

  #readLine(level: string, event: string, text: string): void {
    this.count(`log: ${event}`);
    this.note(event);
    if (level === "error") this.#lastError = `${event} ${text}`;
    if (level !== "error" || text.includes("the simulated database is away")) return;
    if (text.includes("which must have jumped") || text.includes("Storage contention")) return;
    this.violate(`the log says ${event} ${text.slice(0, 600)}`);
  }
}

/** The most calls that a caller may have admitted in so long, over all instances. */
export function mostCalls(milliseconds: number): number {
  return limits.callsPerMinute * (1 + milliseconds / 60_000);
}
