/** What a whole server deletes while its wall clock is wrong. */
import assert from "node:assert/strict";
import { virtualTimers } from "../fixtures/virtual_timers.ts";
import { startInstance } from "./instance.ts";
import { prepareState } from "./prepared_state.ts";
import { SimulatedDatabase } from "./simulated_database.ts";
import { openCalmStorage } from "./simulated_storage.ts";
import { wallStart } from "./virtual_time.ts";

const minute = 60_000;
const day = 24 * 60 * minute;

Deno.test("a wall clock that is 400 days ahead for half an hour deletes no grant; one that stays there does", async () => {
  const { snapshot } = await prepareState(2);
  const database = new SimulatedDatabase(snapshot);
  const timers = virtualTimers();
  const wall = { ahead: 0 };
  const clock = (): number => wallStart + timers.elapsed() + wall.ahead;
  const events: string[] = [];
  const app = await startInstance({
    storage: openCalmStorage(database, clock),
    timers,
    clock,
    onLine: (_level, event) => void events.push(event),
  });
  const grants = (): number => database.list(["grant"], { limit: 10 }, wallStart).length;
  assert.equal(grants(), 2);
  timers.advance(2 * 60 * minute);
  wall.ahead = 400 * day;
  timers.advance(30 * minute);
  wall.ahead = 0;
  timers.advance(30 * minute);
  assert.equal(grants(), 2);
  assert.deepEqual(events.filter((event) => event === "clock_jumped").length, 2);
  wall.ahead = 400 * day;
  timers.advance(2 * 60 * minute);
  assert.equal(grants(), 0);
  await app.close();
});

Deno.test("a deletion that is delayed until the wall clock has jumped deletes by the time at which it began", async () => {
  const { snapshot } = await prepareState(2);
  const database = new SimulatedDatabase(snapshot);
  const timers = virtualTimers();
  const wall = { ahead: 0 };
  const clock = (): number => wallStart + timers.elapsed() + wall.ahead;
  const storage = openCalmStorage(database, clock);
  const delayed = Promise.withResolvers<void>();
  const swept: Promise<number>[] = [];
  const app = await startInstance({
    storage: {
      ...storage,
      sweep(now) {
        swept.push(delayed.promise.then(() => storage.sweep(now)));
        return swept.at(-1) ?? assert.fail();
      },
    },
    timers,
    clock,
    onLine: () => {},
  });
  timers.advance(2 * minute);
  wall.ahead = 400 * day;
  delayed.resolve();
  assert.ok(swept.length > 0);
  await Promise.all(swept);
  assert.equal(database.list(["grant"], { limit: 10 }, wallStart).length, 2);
  await app.close();
});

Deno.test("instances that live for less than the interval between two sweeps delete what has expired, too", async () => {
  const { snapshot } = await prepareState(2);
  const database = new SimulatedDatabase(snapshot);
  const timers = virtualTimers();
  const clock = (): number => wallStart + 400 * day + timers.elapsed();
  for (let life = 0; life < 2; life++) {
    const app = await startInstance({ storage: openCalmStorage(database, clock), timers, clock, onLine: () => {} });
    timers.advance(minute / 2);
    await app.close();
  }
  assert.equal(database.list(["grant"], { limit: 10 }, wallStart).length, 0);
});
