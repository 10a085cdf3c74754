/** The storage port of one instance over the simulated database: everything takes time, and some of it goes wrong. */
import { StorageUnavailableError } from "../../src/lib/system_fault.ts";
import { type Batch, encodeKey, type Storage, type StorageKey } from "../../src/storage/port.ts";
import { isWatchable } from "../../src/storage/watches.ts";
import type { Random } from "../soak/random.ts";
import type { SimulatedDatabase } from "./simulated_database.ts";
import type { Host, VirtualTime } from "./virtual_time.ts";

/** How bad the way to the database is. */
export interface Weather {
  /** How likely an operation is refused, and nothing done. */
  refused: number;
  /** How likely a write is done and then reported as lost. */
  lost: number;
  /** How likely an operation takes seconds. */
  slow: number;
  /** How likely a notice comes only with the next look at everything, seconds later. */
  stalled: number;
}

/** Nothing goes wrong. */
export const fairWeather: Readonly<Weather> = { refused: 0, lost: 0, slow: 0, stalled: 0 };

/** All watches of a fleet on one database. */
export class Announcements {
  readonly #watches = new Set<{ readonly text: string; readonly tell: () => void }>();

  watch(text: string, tell: () => void): () => void {
    const watch = { text, tell };
    this.#watches.add(watch);
    return () => void this.#watches.delete(watch);
  }

  announce(text: string): void {
    for (const watch of [...this.#watches]) if (watch.text === text) watch.tell();
  }
}

/** What the storage of one instance is made of. */
export interface SimulatedStorageOptions {
  readonly time: VirtualTime;
  readonly host: Host;
  readonly database: SimulatedDatabase;
  readonly announcements: Announcements;
  readonly random: Random;
  readonly weather: Weather;
  /** Whether `changeCount` is asked of the database, as of PostgreSQL, or at hand, as with SQLite. */
  readonly asksForChangeCount: boolean;
}

/** Opens it. */
export function openSimulatedStorage(options: SimulatedStorageOptions): Storage {
  const { time, host, database, announcements, random, weather } = options;
  const delay = (): number => random.chance(weather.slow) ? 500 + random.int(6_000) : 0.1 + 3 * random.next();

  const operate = <T>(isWrite: boolean, apply: () => T): Promise<T> =>
    new Promise((resolve, reject) => {
      const fail = (): void => reject(new StorageUnavailableError("the simulated database is away"));
      const isRefused = random.chance(weather.refused);
      const isLost = isWrite && random.chance(weather.lost);
      const [there, back] = [delay(), delay()];
      time.schedule(there, () => {
        if (isRefused) {
          time.schedule(back, fail, host);
          return;
        }
        try {
          const result = apply();
          time.schedule(back, () => isLost ? fail() : resolve(result), host);
        } catch (error) {
          time.schedule(back, () => reject(error), host);
        }
      });
    });

  return {
    get: (key) => operate(false, () => database.get(key, host.clock())),
    list: (prefix, listOptions) => operate(false, () => database.list(prefix, listOptions, host.clock())),
    commit: (batch: Batch) => operate(true, () => database.commit(batch, host.clock())),
    consume: (key) => operate(true, () => database.consume(key, host.clock())),
    sweep: (now) => operate(true, () => database.sweep(now)),
    changeCount: () => options.asksForChangeCount ? operate(false, () => database.changeCount) : database.changeCount,
    watch(key: StorageKey, onChange) {
      if (!isWatchable(key)) throw new TypeError(`${key[0]} cannot be watched`);
      let isOver = false;
      const tell = (milliseconds: number): void => void time.schedule(milliseconds, () => isOver || onChange(), host);
      const stop = announcements.watch(encodeKey(key), () => {
        tell(random.chance(weather.stalled) ? 1_000 + random.int(15_000) : 1 + random.int(150));
        if (random.chance(0.05)) tell(random.int(2_000));
      });
      return () => {
        isOver = true;
        stop();
      };
    },
    close: () => Promise.resolve(),
  };
}

/** The same without time and faults, for preparing a state. */
export function openCalmStorage(database: SimulatedDatabase, clock: () => number): Storage {
  return {
    get: (key) => Promise.resolve(database.get(key, clock())),
    list: (prefix, listOptions) => Promise.resolve(database.list(prefix, listOptions, clock())),
    commit: (batch) => Promise.resolve(database.commit(batch, clock())),
    consume: (key) => Promise.resolve(database.consume(key, clock())),
    sweep: (now) => Promise.resolve(database.sweep(now)),
    changeCount: () => database.changeCount,
    watch: () => () => {},
    close: () => Promise.resolve(),
  };
}
