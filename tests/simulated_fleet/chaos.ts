/** What goes wrong, and when: all of it from the seed. */
import type { Random } from "../soak/random.ts";
import type { Fleet, Slot } from "./fleet.ts";
import { fairWeather } from "./simulated_storage.ts";

const day = 86_400_000;

/** The kinds of faults; a seed has some of them. */
export const faultKinds = ["kill", "pause", "outage", "lost", "slow", "stall", "drizzle", "clock"] as const;
/** One of them. */
export type FaultKind = (typeof faultKinds)[number];

/** Makes trouble until `end`, then puts everything right. */
export async function makeTrouble(fleet: Fleet, kinds: readonly FaultKind[], end: number): Promise<void> {
  const random = fleet.random("chaos");
  const { time } = fleet;
  if (kinds.includes("drizzle")) {
    for (const { weather } of fleet.slots) {
      Object.assign(weather, { refused: 0.01, lost: 0.01, slow: 0.005, stalled: 0.05 });
    }
  }
  const acts = kinds.filter((kind) => kind !== "drizzle");
  while (acts.length > 0) {
    const wait = 1_000 + random.int(12_000);
    if (time.now + wait >= end) break;
    await time.sleep(wait);
    const slot = random.pick(fleet.slots);
    const kind = random.pick(acts);
    fleet.count(`fault: ${kind}`);
    fleet.note(`fault ${kind} ${slot.index}`);
    void strike(fleet, slot, kind, random);
  }
  await time.sleep(Math.max(0, end - time.now));
}

/** Everything is right again, and every instance runs. */
export async function heal(fleet: Fleet): Promise<void> {
  for (const slot of fleet.slots) {
    Object.assign(slot.weather, fairWeather);
    slot.host.wallOffset = slot.wallOffset;
    if (slot.host.isPaused) slot.host.resume();
    if (slot.host.isKilled) await fleet.start(slot);
  }
}

async function strike(fleet: Fleet, slot: Slot, kind: FaultKind, random: Random): Promise<void> {
  const { time } = fleet;
  const { host, weather } = slot;
  const forAWhile = async (change: () => void, milliseconds: number, undo: () => void): Promise<void> => {
    change();
    await time.sleep(milliseconds);
    if (!fleet.isEnding) undo();
  };
  const worsen = (change: Partial<typeof weather>, milliseconds: number): Promise<void> => {
    const before = { ...weather };
    return forAWhile(() => Object.assign(weather, change), milliseconds, () => Object.assign(weather, before));
  };
  switch (kind) {
    case "kill":
      if (host.isKilled) return;
      fleet.kill(slot);
      await time.sleep(500 + random.int(40_000));
      if (slot.host === host && !fleet.isEnding) await fleet.start(slot);
      return;
    case "pause":
      if (host.isPaused || host.isKilled) return;
      return await forAWhile(() => host.isPaused = true, 1_000 + random.int(70_000), () => host.resume());
    case "outage":
      return await worsen({ refused: 1 }, 500 + random.int(45_000));
    case "lost":
      return await worsen({ lost: 0.5 }, 500 + random.int(10_000));
    case "slow":
      return await worsen({ slow: 0.5 }, 500 + random.int(20_000));
    case "stall":
      return await worsen({ stalled: 0.8 }, 5_000 + random.int(60_000));
    case "clock": {
      const jump = random.pick([-3_600_000, 3_600_000, 400 * day, -400 * day, 30_000, -30_000]);
      const duration = random.pick([3_000, 60_000]);
      const change = (): void => {
        host.wallOffset += jump;
        fleet.noteClocks();
      };
      return await forAWhile(change, duration, () => {
        fleet.noteClocks();
        host.wallOffset = slot.wallOffset;
      });
    }
    case "drizzle":
      return;
  }
}
