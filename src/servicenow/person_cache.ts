/** What a person was told of an instance's tables, kept for ten minutes and for that person alone. */
import { boundedMap } from "../lib/bounded_map.ts";
import type { Clock } from "../lib/clock.ts";
import { type Result, success } from "../lib/result.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { InstanceAccount } from "./link_record.ts";
import type { Caller } from "./caller.ts";

const keptMs = 600_000;
/** Characters of everything that is kept. */
const maxCharacters = 16_777_216;

/** A caller, and the account under which the instance knows them. */
export interface Person extends Caller {
  readonly account: InstanceAccount;
}

export type Remember = <T>(
  person: Person,
  name: readonly string[],
  load: () => Promise<Result<T, ServicenowFailure>>,
) => Promise<Result<T, ServicenowFailure>>;

/** Failures are not kept. `clock` is read for differences only. */
export function createPersonCache(clock: Clock): Remember {
  interface Entry {
    readonly value: unknown;
    readonly until: number;
    readonly characters: number;
  }
  const entries = boundedMap<string, Entry>({ maxWeight: maxCharacters, weigh: ({ characters }) => characters });
  return async <T>(
    { subject, account }: Person,
    name: readonly string[],
    load: () => Promise<Result<T, ServicenowFailure>>,
  ) => {
    const key = JSON.stringify([subject, account.sysId, ...name]);
    const kept = entries.get(key);
    if (kept !== undefined && kept.until > clock()) return success(kept.value as T);
    const loaded = await load();
    if (loaded.ok) {
      const characters = key.length + JSON.stringify(loaded.value).length;
      entries.set(key, { value: loaded.value, until: clock() + keptMs, characters });
    }
    return loaded;
  };
}
