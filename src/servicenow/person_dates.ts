/** Dates as a person means them: days begin where the instance shows that person midnight. */
import { success } from "../lib/result.ts";
import type { DeskParts } from "./desk_parts.ts";
import { displayValue, storedValue } from "./field_values.ts";
import type { RecordFields } from "./port.ts";
import type { Person } from "./person_cache.ts";
import { type DatedSpan, isTimeZone, parseDates } from "./dates.ts";

const minutesOfDay = 1_440;
/** Zones lie between twelve hours behind UTC and fourteen ahead. */
const [minOffsetMinutes, maxOffsetMinutes] = [-720, 840];

/** The span that a text means to the person; `null` where it is no date. */
export async function datesOf(
  { tableApi, remember, clock }: DeskParts,
  text: string,
  person: Person,
): Promise<DatedSpan | null> {
  const zone = await remember(person, ["time zone"], async () => {
    const fields = ["time_zone", "sys_updated_on"];
    const own = await tableApi.row("sys_user", person.account.sysId, person, fields);
    if (!own.ok) return own;
    const zone = storedValue(own.value, "time_zone");
    return success(isTimeZone(zone) ? zone : shownZone(own.value) ?? "UTC");
  });
  return parseDates(text, clock(), zone.ok ? zone.value : "UTC");
}

/** People without a zone of their own have the instance's, which shows in how a stored moment is displayed. */
function shownZone(record: RecordFields): string | null {
  const [, day = "", hour = "", minute = ""] = /^\d{4}-\d\d-(\d\d) (\d\d):(\d\d)/.exec(
    storedValue(record, "sys_updated_on"),
  ) ?? [];
  const [, date = "", shownHour = "", shownMinute = "", half = ""] =
    /^(\S+)\s+(\d{1,2})[:.](\d\d)(?:[:.]\d\d)?\s*([ap]m)?$/i.exec(displayValue(record, "sys_updated_on")) ?? [];
  if (day === "" || date === "") return null;
  const shown = half === "" ? Number(shownHour) : Number(shownHour) % 12 + (half.toLowerCase() === "pm" ? 12 : 0);
  const between = shown * 60 + Number(shownMinute) - Number(hour) * 60 - Number(minute);
  // Of the same time on the day before and after, a zone can have two at most: then the day decides.
  const isSameDay = date.split(/\D+/).includes(day);
  const offsets = [between, between + minutesOfDay, between - minutesOfDay]
    .filter((minutes) => minutes >= minOffsetMinutes && minutes <= maxOffsetMinutes);
  const offset = isSameDay ? offsets[0] : offsets.find((minutes) => minutes !== between) ?? offsets[0];
  if (offset === undefined || (offset === between && !isSameDay)) return null;
  const size = Math.abs(offset);
  const two = (number: number): string => String(number).padStart(2, "0");
  const name = `${offset < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  return isTimeZone(name) ? name : null;
}
