/** Days and times as people say them, whatever zone an instance reads the dates of queries in. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { openDesk } from "../desk/desk_place.ts";

for (const queryDates of ["utc", "person_zone"] as const) {
  Deno.test(`a day has the same records where dates of queries are read in ${queryDates}`, async () => {
    await using desk = await openDesk({ people: ["ada", "cleo"], instance: { data: "desk", habits: { queryDates } } });
    const rows = [...desk.instance.tables.get("incident")?.values() ?? []].filter((row) =>
      row["assignment_group"] !== sysId("96")
    );
    for (
      const [where, from, until] of [
        ["opened_at=2026-05-20", "2026-05-20 07:00:00", "2026-05-21 06:59:59"],
        ["opened_at>=2026-05-20 08:00", "2026-05-20 08:00:00", "9"],
        ["opened_at>=26.05.2026", "2026-05-26 07:00:00", "9"],
        ["opened_at between 2026-05-18 and 19.05.2026", "2026-05-18 07:00:00", "2026-05-20 06:59:59"],
        ["opened_at>=yesterday 14:00", "2026-05-27 21:00:00", "9"],
        ["opened_at>=27.05.2026 2 pm", "2026-05-27 21:00:00", "9"],
        ["opened_at>=today at 08:00", "2026-05-28 15:00:00", "9"],
      ] as const
    ) {
      const expected = rows.filter((row) =>
        (row["opened_at"] ?? "") >= from && (row["opened_at"] ?? "") <= until
      ).length;
      const text = await desk.text("servicenow_count", { table: "incident", where });
      assert.match(text, new RegExp(`^incident: ${expected} that`), where);
      assert.ok(text.includes(from), text);
    }
    assert.match(
      await desk.text("servicenow_search", { table: "incident", where: "opened_at>=yesterday 14:00" }),
      /yesterday 14:00 in the user's zone, US\/Pacific/,
    );
    for (const where of ["opened_at>=31.02.2026", "opened_at>=today 25:00", "opened_at>=soon 8:00"]) {
      assert.match(await desk.text("servicenow_search", { table: "incident", where }), /is no date/, where);
    }
  });
}
