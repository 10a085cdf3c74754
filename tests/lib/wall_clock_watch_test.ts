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
  Deno.test(`a wall clock that jumps ${name} is told once, and deletes nothing more for an hour`, () => {
    const { timers, wall, lines, watch } = start();
    timers.advance(day);
    const now = () => timers.elapsed() + wall.offset;
    assert.deepEqual([watch.steadyNow(), watch.isSteady()], [now(), true]);
    const least = Math.min(wall.offset, wall.offset + jump);
    wall.offset += jump;
    const isHeld = () => watch.steadyNow() === timers.elapsed() + least && !watch.isSteady();
    assert.ok(isHeld(), "noticed before the next look");
    timers.advance(30 * 60_000);
    assert.deepEqual(lines, [["clock_jumped", { seconds: jump / 1_000 }]]);
    assert.ok(isHeld());
    timers.advance(31 * 60_000);
    assert.deepEqual([watch.steadyNow(), watch.isSteady()], [now(), true]);
    watch.close();
  });
}

Deno.test("a wall clock that was wrong for three seconds is distrusted for an hour after it was put right", () => {
  const { timers, wall, lines, watch } = start();
  timers.advance(11_000);
  const right = wall.offset;
  wall.offset += 400 * day;
  timers.advance(10_000);
  assert.equal(watch.steadyNow(), timers.elapsed() + right);
  wall.offset -= 400 * day;
  assert.equal(watch.steadyNow(), timers.elapsed() + right);
  assert.ok(!watch.isSteady());
  assert.equal(lines.length, 2);
  watch.close();
});

Deno.test("by a clock that jumps all the time, as of a machine that sleeps, what has long expired is deleted", () => {
  const { timers, wall, watch } = start();
  for (let nap = 0; nap < 100; nap++) {
    timers.advance(30 * 60_000);
    wall.offset += 3_600_000;
    const late = timers.elapsed() + wall.offset - watch.steadyNow();
    assert.ok(late >= 3_600_000 && late <= 3 * 3_600_000, `${late} ms behind`);
  }
  watch.close();
});

Deno.test("a clock that is corrected little by little has not jumped", () => {
  const { timers, wall, lines, watch } = start();
  for (let second = 0; second < 3_600; second++) {
    timers.advance(1_000);
    wall.offset += 2;
  }
  assert.ok(watch.isSteady());
  assert.deepEqual(lines, []);
  watch.close();
});
