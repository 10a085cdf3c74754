import assert from "node:assert/strict";
import { parseSpan } from "../../../src/servicenow/query/dates.ts";
import { openDesk } from "./desk_place.ts";

/** A Sunday evening in UTC; Monday already in Tokyo. */
const now = Date.UTC(2026, 2, 29, 18, 30, 0);

Deno.test("parseSpan() gives the days, weeks and months of the person's time zone in UTC", () => {
  for (
    const [text, zone, from, until] of [
      ["today", "UTC", "2026-03-29 00:00:00", "2026-03-29 23:59:59"],
      ["today", "Asia/Tokyo", "2026-03-29 15:00:00", "2026-03-30 14:59:59"],
      ["Yesterday", "US/Pacific", "2026-03-28 07:00:00", "2026-03-29 06:59:59"],
      ["this week", "UTC", "2026-03-23 00:00:00", "2026-03-29 23:59:59"],
      ["last week", "Asia/Tokyo", "2026-03-22 15:00:00", "2026-03-29 14:59:59"],
      // The day on which Berlin's clocks jump has 23 hours.
      ["today", "Europe/Berlin", "2026-03-28 23:00:00", "2026-03-29 21:59:59"],
      ["last month", "UTC", "2026-02-01 00:00:00", "2026-02-28 23:59:59"],
      ["this year", "UTC", "2026-01-01 00:00:00", "2026-12-31 23:59:59"],
      ["last 7 days", "UTC", "2026-03-22 18:30:00", "2026-03-29 18:30:00"],
      ["next 2 hours", "UTC", "2026-03-29 18:30:00", "2026-03-29 20:30:00"],
      ["2 days ago", "UTC", "2026-03-27 00:00:00", "2026-03-27 23:59:59"],
      ["2026-03-01", "US/Pacific", "2026-03-01 08:00:00", "2026-03-02 07:59:59"],
      ["2026-03-01 08:00", "US/Pacific", "2026-03-01 08:00:00", "2026-03-01 08:00:59"],
      ["2026-03-01T08:00:00+02:00", "UTC", "2026-03-01 06:00:00", "2026-03-01 06:00:00"],
    ] as const
  ) assert.deepEqual(parseSpan(text, now, zone), { from, until }, `${text} in ${zone}`);
  for (
    const text of ["", "soon", "2026-02-30", "2026-13-01", "2026-03-01 25:00", "javascript:gs.now()", "last 5 moons"]
  ) {
    assert.equal(parseSpan(text, now, "UTC"), null, text);
  }
});

Deno.test("servicenow_search takes days in the person's time zone, and says what it asked for", async () => {
  await using desk = await openDesk({ people: ["ada", "cleo"] });
  const said = async (user: string) =>
    /opened_at .*/.exec(
      await desk.text("servicenow_search", { table: "incident", where: "opened_at=2026-03-05" }, user),
    )?.[0];
  assert.match(await said("ada") ?? "", /^opened_at from 2026-03-05 08:00:00 to 2026-03-06 07:59:59 UTC/);
  assert.match(await said("cleo") ?? "", /^opened_at from 2026-03-04 23:00:00 to 2026-03-05 22:59:59 UTC/);
});
