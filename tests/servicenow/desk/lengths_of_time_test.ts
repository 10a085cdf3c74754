/** Lengths of time, which ServiceNow stores as moments of 1970: shown, looked for, counted and written as lengths. */
import assert from "node:assert/strict";
import { parseLength } from "../../../src/servicenow/dates.ts";
import { shownValue } from "../../../src/servicenow/search.ts";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { type Desk, openDesk } from "./desk_place.ts";

/** Incidents with one business duration each. */
const durations = ["1970-01-02 03:00:00", "1970-01-01 02:00:00", "1970-01-01 00:00:45"];

async function openTimedDesk(habits: object = {}): Promise<Desk> {
  const desk = await openDesk({ instance: { habits } });
  for (const [at, business_duration] of durations.entries()) {
    Object.assign(desk.instance.tables.get("incident")?.get(sysId("1c", at + 1)) ?? assert.fail(), {
      business_duration,
      calendar_duration: "1971-01-05 00:00:00",
      time_worked: "1970-01-01 01:30:00",
    });
  }
  return desk;
}

Deno.test("a duration is shown as a length of time, in a record, a list, a count and the history", async () => {
  await using desk = await openTimedDesk({ history: "audit" });
  const fields = "business_duration,calendar_duration,time_worked,opened_at";
  const text = await desk.text("servicenow_get_record", { id: "INC0010001", fields });
  assert.match(text, /^business_duration: 1 day 3 hours$/m);
  assert.match(text, /^calendar_duration: 369 days$/m);
  assert.match(text, /^time_worked: 1 hour 30 minutes$/m);
  assert.match(text, /^opened_at: 2026-.* UTC$/m);
  const whole = await desk.text("servicenow_get_record", { id: "INC0010003", fields: "*" });
  assert.match(whole, /^business_duration: 45 seconds$/m);
  const listed = { table: "incident", where: "number=INC0010002", fields: "number,business_duration" };
  assert.match(await desk.text("servicenow_search", listed), /business_duration 2 hours/);
  const groups = { table: "incident", where: "business_duration is not empty", group_by: "business_duration" };
  assert.match(await desk.text("servicenow_count", groups), /^1 day 3 hours: 1$/m);
  await desk.text("servicenow_update", { id: "INC0010001", values: { business_duration: "2 days" } });
  const history = await desk.text("servicenow_get_record", { id: "INC0010001", fields: "number", include: "history" });
  assert.match(history, /business_duration 1 day 3 hours → 2 days/);
  assert.doesNotMatch(text + whole + history, /19[67]\d-/);
});

Deno.test("durations are compared with lengths of time, whether the dictionary is shown or not", async () => {
  for (const metadata of ["everyone", "admin_only"] as const) {
    await using desk = await openTimedDesk({ metadata });
    const count = (where: string) => desk.text("servicenow_count", { table: "incident", where });
    for (
      const [where, found, words] of [
        ["business_duration > 2 hours", 1, /business_duration > 2 hours$/],
        ["business_duration >= 120 minutes", 2, /business_duration >= 2 hours$/],
        ["business_duration < 1 day 3 hours", 2, /business_duration < 1 day 3 hours$/],
        ["business_duration <= 27h", 3, /business_duration <= 1 day 3 hours$/],
        ["business_duration = 1 03:00:00", 1, /business_duration is 1 day 3 hours$/],
        ["business_duration = 1 day 3 hours|45s", 2, /is 1 day 3 hours or 45 seconds$/],
        ["business_duration between 1 minute and 1.5 days", 2, /business_duration <= 1 day 12 hours$/],
        ["business_duration>javascript:gs.getDurationDate('0 2:0:0')", 1, /business_duration > 2 hours$/],
        ["business_duration > 1970-01-01 02:00:00", 1, /business_duration > 2 hours$/],
        ["time_worked = 1h 30m", 3, /time_worked is 1 hour 30 minutes$/],
      ] as const
    ) {
      const text = await count(where);
      assert.match(text, new RegExp(`^incident: ${found} `), `${metadata} ${where}: ${text}`);
      assert.match(text, words, where);
    }
    for (const wrong of ["> 2", "> soon", "> 2026-03-01", "> 1 hour|2 hours", "contains 2 hours", "= 2 months"]) {
      const text = await count(`business_duration ${wrong}`);
      assert.match(text, /^refused .*business_duration is a length of time.*such as 1 day 3 hours/, wrong);
    }
  }
});

Deno.test("a length of time that is written is stored as ServiceNow has it, and nothing else is", async () => {
  await using desk = await openTimedDesk();
  const update = (business_duration: string) =>
    desk.text("servicenow_update", { id: "INC0010002", values: { business_duration } });
  assert.match(await update("1 day 3 hours"), /business_duration: 2 hours → 1 day 3 hours$/m);
  assert.equal(desk.instance.tables.get("incident")?.get(sysId("1c", 2))?.["business_duration"], durations[0]);
  for (const wrong of ["2", "soon", "2026-03-01 08:00:00"]) {
    assert.match(await update(wrong), /^refused .*write a length of time such as 1 day 3 hours/, wrong);
  }
  assert.match(await update(""), /business_duration: 1 day 3 hours → \(empty\)$/m);
});

Deno.test("parseLength() gives the moment so long after 1970 began", () => {
  for (
    const [text, stored] of [
      ["0 seconds", "1970-01-01 00:00:00"],
      ["2 weeks, 1 day and 5 min", "1970-01-16 00:05:00"],
      ["1.5 hours", "1970-01-01 01:30:00"],
      ["02:30:00", "1970-01-01 02:30:00"],
      ["1 Day 3 Hours", "1970-01-02 03:00:00"],
      ["400 days", "1971-02-05 00:00:00"],
    ] as const
  ) assert.equal(parseLength(text), stored, text);
  for (const text of ["", "hours", "2", "2:30", "2 hours ago", "last 2 hours", "9999999999 days", "2 hours x"]) {
    assert.equal(parseLength(text), null, text);
  }
});

Deno.test("shownValue() tells moments, lengths and times of day apart by how the instance shows them", () => {
  for (
    const [value, display_value, expected] of [
      ["1970-01-02 03:00:00", "1 Tag 3 Stunden", "1 day 3 hours"],
      ["1969-12-31 23:00:00", "-1 Hour", "-1 hour"],
      ["1970-01-01 08:30:00", "08:30:00", "08:30:00"],
      ["1970-01-01 08:30:00", "8:30 AM", "8:30 AM"],
      ["1970-01-01 08:30:00", "01.01.1970 09:30:00", "1970-01-01 08:30:00 UTC"],
      ["1999-03-01 08:30:00", "01 Mar 1999 09:30", "1999-03-01 08:30:00 UTC"],
      ["2026-03-01 08:30:00", "1 März 2026 09.30", "2026-03-01 08:30:00 UTC"],
    ] as const
  ) assert.equal(shownValue({ u_at: { value, display_value } }, "u_at"), expected, display_value);
});
