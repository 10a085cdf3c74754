import assert from "node:assert/strict";
import type { LogFields } from "../../src/lib/log.ts";
import { watchWallClock } from "../../src/lib/wall_clock_watch.ts";
import { virtualTimers } from "../fixtures/virtual_timers.ts";

const day = 86_400_000;

function start() {
  const timers = virtualTimers();
  const wall = { offset: 1_800_000_000_000 };
  const lines: [string, LogFields | undefined][] = [];
  const log = {
    write: (_level: string, event: string, fields?: LogFields) => void lines.push([event, fields]),
    flush() {},
  };
  const watch = watchWallClock({ clock: () => timers.elapsed() + wall.offset, timers, log });
  return { timers, wall, lines, watch };
}

for (const [name, jump] of Object.entries({ "400 days ahead": 400 * day, "an hour back": -3_600_000 })) {
  Deno.test(`a wall clock that jumps ${name} is told once, and nothing is deleted by it for an hour`, () => {
    const { timers, wall, lines, watch } = start();
    timers.advance(day);
    assert.ok(watch.steadyNow() !== null);
    wall.offset += jump;
    assert.ok(watch.steadyNow() === null, "noticed before the next look");
    timers.advance(30 * 60_000);
    assert.deepEqual(lines, [["clock_jumped", { seconds: jump / 1_000 }]]);
    assert.ok(watch.steadyNow() === null);
    timers.advance(31 * 60_000);
    assert.ok(watch.steadyNow() !== null);
    watch.close();
  });
}

Deno.test("a wall clock that was wrong for three seconds is distrusted for an hour after it was put right", () => {
  const { timers, wall, lines, watch } = start();
  timers.advance(11_000);
  wall.offset += 400 * day;
  timers.advance(10_000);
  wall.offset -= 400 * day;
  assert.ok(watch.steadyNow() === null);
  assert.equal(lines.length, 2);
  watch.close();
});

Deno.test("a clock that is corrected little by little has not jumped", () => {
  const { timers, wall, lines, watch } = start();
  for (let second = 0; second < 3_600; second++) {
    timers.advance(1_000);
    wall.offset += 2;
  }
  assert.ok(watch.steadyNow() !== null);
  assert.deepEqual(lines, []);
  watch.close();
});
