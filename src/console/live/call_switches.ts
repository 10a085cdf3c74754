/**
 * The switches that stop every call, or those of a client. They are stored, so they survive a restart and count for
 * all instances; each instance keeps them in memory and is notified of a change, so that a call pays for one look at a
 * variable.
 */
import * as z from "zod";
import type { Clock, Timers } from "../../lib/time.ts";
import type { Log } from "../../lib/log.ts";
import type { Principal } from "../../lib/principal.ts";
import { joinNext } from "../../lib/join_next.ts";
import { changeEntry, watchEntries } from "../../lib/stored_entries.ts";
import type { Storage, StorageKey } from "../../storage/mod.ts";

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
export type SwitchState = z.infer<typeof switches>;

interface CallSwitches {
  /** As this instance knows it. */
  readonly state: SwitchState;
  /** Reads it from the storage: before the first call can come. */
  load(): Promise<void>;
  /** Why calls of the principal are stopped; `null` where they are not. */
  refusal(principal: Pick<Principal, "clientId">): string | null;
  /** Stops every call of every client, also those that run. `by` is the person. */
  stopAll(by: string): Promise<void>;
  resumeAll(by: string): Promise<void>;
  pauseClient(client: string, by: string): Promise<void>;
  resumeClient(client: string, by: string): Promise<void>;
  close(): void;
}

interface SwitchOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly timers?: Timers | undefined;
  readonly log: Log;
  /** Called after each change: calls that run may have to stop. */
  readonly onChange: () => void;
}

const key: StorageKey = ["call_switches", "current"];
/** The oldest go first. */
const maxPausedClients = 1_000;
const allOn: SwitchState = { stopped: null, paused: [] };
const stoppedWords = "An administrator of this server has stopped all calls. Do not repeat the call; tell your user.";
const pausedWords = "An administrator of this server has paused this client. Do not repeat the call; tell your user.";

export function createCallSwitches({ storage, clock, timers, log, onChange }: SwitchOptions): CallSwitches {
  let state = allOn;
  let pausedClients: ReadonlySet<string> = new Set();
  let isQuiet = true;

  const adopt = (next: SwitchState): void => {
    state = next;
    pausedClients = new Set(next.paused.map(({ client }) => client));
    isQuiet = next.stopped === null && pausedClients.size === 0;
    onChange();
  };
  /** What cannot be read stops what it stopped before. */
  const parse = (value: unknown): SwitchState => value === undefined ? allOn : switches.safeParse(value).data ?? state;
  // One look at a time: of two answers the later one could be the older.
  const load = joinNext(async (): Promise<void> => adopt(parse((await storage.get(key))?.value)));
  const watch = watchEntries(storage, [key], load, { log, timers });
  const change = async (next: (before: SwitchState) => SwitchState): Promise<void> => {
    const changed = await changeEntry(storage, key, (value) => next(parse(value)));
    if (changed !== null) await load().catch(() => adopt(changed)); // stored, and then the storage was lost
  };
  return {
    get state() {
      return state;
    },
    load,
    refusal({ clientId }) {
      if (isQuiet) return null;
      if (state.stopped !== null) return stoppedWords;
      return pausedClients.has(clientId) ? pausedWords : null;
    },
    async stopAll(by) {
      await change((before) => ({ ...before, stopped: before.stopped ?? { at: clock(), by } }));
      log.write("audit", "calls_stopped", { user: by });
    },
    async resumeAll(by) {
      await change((before) => ({ ...before, stopped: null }));
      log.write("audit", "calls_resumed", { user: by });
    },
    async pauseClient(client, by) {
      await change(({ stopped, paused }) => ({
        stopped,
        paused: [...paused.filter((each) => each.client !== client), { client, at: clock(), by }]
          .slice(-maxPausedClients),
      }));
      log.write("audit", "client_paused", { user: by, client });
    },
    async resumeClient(client, by) {
      await change(({ stopped, paused }) => ({ stopped, paused: paused.filter((each) => each.client !== client) }));
      log.write("audit", "client_resumed", { user: by, client });
    },
    close: () => watch.stop(),
  };
}
