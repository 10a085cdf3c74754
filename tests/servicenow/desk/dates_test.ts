import assert from "node:assert/strict";
import { parseDates } from "../../../src/servicenow/dates.ts";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { openDesk } from "./desk_place.ts";

/** A Sunday evening in UTC; Monday already in Tokyo. */
const now = Date.UTC(2026, 2, 29, 18, 30, 0);

Deno.test("parseDates() gives the days, weeks and months of the person's time zone in UTC", () => {
  for (
    const [text, zone, from, until] of [
      ["today", "UTC", "2026-03-29 00:00:00", "2026-03-29 23:59:59"],
      ["today", "Asia/Tokyo", "2026-03-29 15:00:00", "2026-03-30 14:59:59"],
      ["Yesterday", "US/Pacific", "2026-03-28 07:00:00", "2026-03-29 06:59:59"],
      ["this week", "UTC", "2026-03-23 00:00:00", "2026-03-29 23:59:59"],
      ["last week", "Asia/Tokyo", "2026-03-22 15:00:00", "2026-03-29 14:59:59"],
      // The day on which Berlin's clocks jump has 23 hours.
      ["today", "Europe/Berlin", "2026-03-28 23:00:00", "2026-03-29 21:59:59"],
      // What they skip or show twice is one moment still, also where they jump at midnight.
      ["2026-10-25", "Europe/Zurich", "2026-10-24 22:00:00", "2026-10-25 22:59:59"],
      ["2026-04-05", "Pacific/Auckland", "2026-04-04 11:00:00", "2026-04-05 11:59:59"],
      ["2026-09-06", "America/Santiago", "2026-09-06 04:00:00", "2026-09-07 02:59:59"],
      ["2026-09-05", "America/Santiago", "2026-09-05 04:00:00", "2026-09-06 03:59:59"],
      ["today at 1:30", "Europe/Zurich", "2026-03-29 00:30:00", "2026-03-29 00:30:59"],
      ["today 02:30", "Europe/Zurich", "2026-03-29 01:30:00", "2026-03-29 01:30:59"],
      ["last month", "UTC", "2026-02-01 00:00:00", "2026-02-28 23:59:59"],
      ["this year", "UTC", "2026-01-01 00:00:00", "2026-12-31 23:59:59"],
      ["last 7 days", "UTC", "2026-03-22 18:30:00", "2026-03-29 18:30:00"],
      ["next 2 hours", "UTC", "2026-03-29 18:30:00", "2026-03-29 20:30:00"],
      ["2 days ago", "UTC", "2026-03-27 00:00:00", "2026-03-27 23:59:59"],
      ["in 3 days", "Asia/Tokyo", "2026-04-01 15:00:00", "2026-04-02 14:59:59"],
      ["in 2 hours", "UTC", "2026-03-29 20:30:00", "2026-03-29 20:30:00"],
      ["last friday", "UTC", "2026-03-27 00:00:00", "2026-03-27 23:59:59"],
      ["next monday", "Asia/Tokyo", "2026-04-05 15:00:00", "2026-04-06 14:59:59"],
      ["last friday 4 pm", "UTC", "2026-03-27 16:00:00", "2026-03-27 16:00:59"],
      ["today 12 am", "UTC", "2026-03-29 00:00:00", "2026-03-29 00:00:59"],
      ["26 Nov 2026", "UTC", "2026-11-26 00:00:00", "2026-11-26 23:59:59"],
      ["3. März 2026 9:15 pm", "UTC", "2026-03-03 21:15:00", "2026-03-03 21:15:59"],
      ["last 3 months", "UTC", "2025-12-29 18:30:00", "2026-03-29 18:30:00"],
      ["2 months ago", "UTC", "2026-01-29 00:00:00", "2026-01-29 23:59:59"],
      ["2026-03-01", "US/Pacific", "2026-03-01 08:00:00", "2026-03-02 07:59:59"],
      ["2026-03-01 08:00", "US/Pacific", "2026-03-01 08:00:00", "2026-03-01 08:00:59"],
      ["2026-03-01 8:00", "US/Pacific", "2026-03-01 08:00:00", "2026-03-01 08:00:59"],
      ["2026-03-01T08:00:00+02:00", "UTC", "2026-03-01 06:00:00", "2026-03-01 06:00:00"],
    ] as const
  ) {
    const { from: first, until: last } = parseDates(text, now, zone) ?? {};
    assert.deepEqual({ from: first, until: last }, { from, until }, `${text} in ${zone}`);
  }
  for (
    const [text, zone, firstDay, lastDay] of [
      ["2026-03-01", "Asia/Tokyo", "2026-03-01", "2026-03-01"],
      ["today", "Asia/Tokyo", "2026-03-30", "2026-03-30"],
      ["last week", "US/Pacific", "2026-03-16", "2026-03-22"],
      ["2026-03-01 02:00", "US/Pacific", "2026-02-28", "2026-02-28"],
    ] as const
  ) {
    const { firstDay: first, lastDay: last } = parseDates(text, now, zone) ?? {};
    assert.deepEqual([first, last], [firstDay, lastDay], `${text} in ${zone}`);
  }
  for (
    const text of [
      "",
      "soon",
      "2026-02-30",
      "2026-13-01",
      "2026-03-01 25:00",
      "javascript:gs.now()",
      "last 5 moons",
      "3 days",
      "in 3 days ago",
    ]
  ) {
    assert.equal(parseDates(text, now, "UTC"), null, text);
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

Deno.test("a bare date is the same day in conditions, in values and in answers: the person's own", async () => {
  await using desk = await openDesk({ people: ["ada", "cleo", "eve"], instance: { data: "desk" } });
  for (const [user, midnight] of [["ada", "08:00:00"], ["cleo", "23:00:00"]] as const) {
    const text = await desk.text(
      "servicenow_update",
      { id: "CHG0030002", values: "due_date=2026-12-02", dry_run: true },
      user,
    );
    assert.match(text, new RegExp(`due_date: 2026-12-0[12] ${midnight} UTC`));
  }
  const ordered = { item: "Software licence", answers: "software=visio\nlicence_for=me\nterms=yes\nuntil=2026-12-31" };
  assert.match(await desk.text("servicenow_order", { ...ordered, dry_run: true }), /Until when\?: 2026-12-31$/m);
  // A column that holds a day is compared with the day as it was written, in every zone.
  const [article] = [...desk.instance.tables.get("kb_knowledge")?.values() ?? []].filter(({ published }) => published);
  for (const user of ["ada", "cleo"]) {
    const where = `published=${article?.["published"]}`;
    const text = await desk.text("servicenow_search", { table: "kb_knowledge", where }, user);
    assert.match(
      text,
      new RegExp(`published from ${article?.["published"]} to ${article?.["published"]}[^]*${article?.["number"]}`),
    );
  }
});

Deno.test("days of a person without a time zone begin where the instance shows that person midnight", async () => {
  await using desk = await openDesk();
  const own = desk.instance.tables.get("sys_user")?.get(sysId("a1")) ?? {};
  for (
    const [systemZone, date_format, time_format, stored, midnight] of [
      ["Etc/GMT+8", "", "", "2026-03-02 22:30:00", "2026-03-05 08:00:00"],
      ["Asia/Kolkata", "MM/dd/yyyy", "hh:mm:ss a", "2026-03-02 22:30:00", "2026-03-04 18:30:00"],
      ["Pacific/Kiritimati", "dd.MM.yyyy", "HH:mm", "2026-03-31 10:00:00", "2026-03-04 10:00:00"],
      ["Etc/GMT+12", "dd-MM-yyyy", "hh:mm a", "2026-03-01 10:00:00", "2026-03-05 12:00:00"],
      ["Pacific/Auckland", "dd.MM.yyyy", "HH:mm", "2026-03-31 10:00:00", "2026-03-04 11:00:00"],
      ["Pacific/Honolulu", "dd-MM-yyyy", "hh:mm a", "2026-03-01 10:00:00", "2026-03-05 10:00:00"],
      ["Etc/GMT+5", "yyyy-MM-dd", "", "2026-03-03 03:00:00", "2026-03-05 05:00:00"],
      ["Asia/Kolkata", "never mind", "", "2026-03-02 22:30:00", "2026-03-05 00:00:00"],
    ] as const
  ) {
    desk.instance.habits.systemZone = systemZone;
    Object.assign(own, { time_zone: "", sys_updated_on: stored, date_format, time_format });
    desk.place.advance(601);
    const text = await desk.text("servicenow_search", { table: "incident", where: "opened_at=2026-03-05" });
    assert.match(text, new RegExp(`opened_at from ${midnight} to`), systemZone);
  }
});
