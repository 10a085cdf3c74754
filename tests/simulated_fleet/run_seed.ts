/** One seed of the simulated fleet, from its first event to the last check. */
import type { Storage } from "../../src/storage/port.ts";
import { seeded } from "../soak/random.ts";
import { timeTurnsBy } from "../../src/lib/turns.ts";
import { runAuthorizationActor } from "./authorization_actor.ts";
import { type FaultKind, faultKinds, heal, makeTrouble } from "./chaos.ts";
import { runFileActor } from "./file_actor.ts";
import { Fleet } from "./fleet.ts";
import { requireOpenLimit, requireWithinLimit, runLimitActor } from "./limit_actor.ts";
import { settle } from "./native_work.ts";
import type { PreparedState } from "./prepared_state.ts";
import { checkQuietFleet } from "./quiet_checks.ts";
import { runSessionActor } from "./session_actor.ts";
import { runStreamActor } from "./stream_actor.ts";
import { requireFreeSlots, runTaskActor } from "./task_actor.ts";

/** What came of a seed. */
export interface SeedOutcome {
  readonly violations: readonly string[];
  readonly events: number;
  readonly virtualSeconds: number;
  readonly faults: readonly FaultKind[];
  readonly counts: ReadonlyMap<string, number>;
  /** The same for each run of the same seed. */
  readonly trace: number;
}

/** For tests of the checks themselves. */
export interface SeedOptions {
  /** Instead of those that the seed has. */
  readonly faults?: readonly FaultKind[];
  readonly breakStorage?: (storage: Storage) => Storage;
}

/** How many clients a prepared state needs. */
export const preparedClients = 9;

const troubleMs = 150_000;
/** Longer than a task, two windows of a limit, and every pause, lease and time-out of the server. */
const quietMs = 330_000;
const maxEvents = 400_000;

/** Runs it. */
export async function runSeed(
  seed: number,
  prepared: PreparedState,
  options: SeedOptions = {},
): Promise<SeedOutcome> {
  timeTurnsBy(() => 0); // else how busy this machine is would decide the order of events
  using _turns = { [Symbol.dispose]: () => timeTurnsBy(() => performance.now()) };
  const plan = seeded(seed, "plan");
  const planned = faultKinds.filter(() => plan.chance(0.4));
  const { faults = planned, breakStorage } = options;
  const apart = plan.pick([0, 0, 100, 20_000, 45_000, 85_000]);
  const wallOffsets = Array.from({ length: 2 + plan.int(2) }, () => Math.round((plan.next() - 0.5) * apart));
  const fleet = new Fleet({
    seed,
    prepared,
    wallOffsets,
    asksForChangeCount: plan.chance(0.5),
    ...(breakStorage === undefined ? {} : { breakStorage }),
  });
  const { time } = fleet;
  fleet.isCalm = faults.length === 0;
  let isDone = false;
  let at = "trouble";
  const story = async (): Promise<void> => {
    for (const slot of fleet.slots) await fleet.start(slot);
    const [one, two, three, four, five, six, seven, eight, nine] = prepared.clients;
    if (!one || !two || !three || !four || !five || !six || !seven || !eight || !nine) {
      throw new Error("too few clients were prepared");
    }
    const { cookies } = prepared;
    const limit = runLimitActor(fleet, 1, one.accessToken);
    const actors = [
      runAuthorizationActor(fleet, 2, { ...two, cookies }),
      runAuthorizationActor(fleet, 3, { ...three, cookies }),
      runTaskActor(fleet, 4, four.accessToken),
      runTaskActor(fleet, 5, five.accessToken),
      runSessionActor(fleet, 6, six.accessToken),
      runFileActor(fleet, 7, seven.accessToken),
      runStreamActor(fleet, 8, eight.accessToken),
    ];
    await makeTrouble(fleet, faults, troubleMs);
    fleet.isEnding = true;
    await heal(fleet);
    const used = await limit;
    requireWithinLimit(fleet, used, faults.length > 0);
    await time.sleep(quietMs);
    at = "waiting for the actors";
    await Promise.all(actors);
    at = "checking the quiet fleet";
    await checkQuietFleet(fleet, [nine, eight]);
    for (const { accessToken } of [four, five]) await requireFreeSlots(fleet, accessToken);
    await requireOpenLimit(fleet, one.accessToken);
    await time.sleep(30_000);
    at = "closing";
    await Promise.all(fleet.slots.map(({ app }) => app?.close()));
    isDone = true;
  };
  story().catch((error) => {
    fleet.violate(`the story ended: ${error?.stack}`);
    isDone = true;
  });
  await time.run(
    () => isDone || fleet.violations.length > 0 || time.events > maxEvents,
    () => fleet.noteClocks(),
  );
  await settle();
  if (!isDone && fleet.violations.length === 0) {
    fleet.violate(time.events > maxEvents ? `the events never end, ${at}` : `everything waits for ever, ${at}`);
  }
  const { violations, counts, trace } = fleet;
  return { violations, events: time.events, virtualSeconds: time.now / 1_000, faults, counts, trace };
}
