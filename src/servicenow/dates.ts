/** Dates as people say them, in their own time zone, as spans of UTC. */
import { type Answer, invalidInput } from "./failure.ts";
import type { DeskParts } from "./table_api.ts";
import { displayValue, type RecordFields, storedValue } from "./field_values.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import { success } from "../lib/result.ts";

/** From the first moment to the last, in UTC as the instance stores it. */
interface Span {
  readonly from: string;
  readonly until: string;
  /** Whether it is a time of day as the person's clock shows it. */
  readonly isLocal?: boolean;
}

/** A span, and the days of it on the person's calendar. */
interface DatedSpan extends Span {
  readonly firstDay: string;
  readonly lastDay: string;
  readonly zone: string;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const unitMs: Readonly<Record<string, number>> = { minute: 60_000, hour: hourMs, day: dayMs, week: 7 * dayMs };
const weekdays = ["sun", "mon", "tues", "wednes", "thurs", "fri", "satur"];
const maxUnits = 10_000;

const maxZones = 100;
/** By time zone: to make one takes longer than to read it, and a count by day reads thousands. */
const clockFaces = boundedMap<string, Intl.DateTimeFormat>(maxZones);

/** Throws for a zone that the platform does not know. */
function clockFaceOf(timeZone: string): Intl.DateTimeFormat {
  const numeric = "numeric";
  const known = clockFaces.get(timeZone);
  if (known !== undefined) return known;
  const face = new Intl.DateTimeFormat("en-US", {
    ...{ timeZone, hourCycle: "h23" },
    ...{ year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric },
  });
  clockFaces.set(timeZone, face);
  return face;
}

/** Whether the platform knows a time zone of this name. */
function isTimeZone(zone: string): boolean {
  try {
    clockFaceOf(zone);
    return zone !== "";
  } catch {
    return false;
  }
}

/** The offset of a time zone at a moment, in milliseconds; unknown zones count as UTC. */
function offsetMs(at: number, zone: string): number {
  if (!isTimeZone(zone)) return 0;
  const parts = clockFaceOf(zone).formatToParts(at);
  const part = (type: string): number => Number(parts.find((each) => each.type === type)?.value ?? "0");
  const local = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
  return local - Math.floor(at / 1_000) * 1_000;
}

/** The moment at which clocks in the zone show `local` (UTC milliseconds of what they show); the later one beside where they skip it. */
function momentOf(local: number, zone: string): number {
  const near = local - offsetMs(local, zone);
  const moment = local - offsetMs(near, zone);
  return moment + offsetMs(moment, zone) === local ? moment : Math.max(near, moment);
}

function stamp(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace("T", " ");
}

/** From the day that begins at `first` to before the one that begins at `end`, as clocks in the zone show them. */
function daySpan(first: number, zone: string, end = first + dayMs): Span {
  return { from: stamp(momentOf(first, zone)), until: stamp(momentOf(end, zone) - 1_000) };
}

const absolute = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?(?:\.\d{1,3})?\s*(Z|UTC|[+-]\d\d:?\d\d)?)?$/i;

/** The span that `text` means; `null` when it is no date. Times without a zone are UTC, days are the person's own. */
export function parseDates(text: string, now: number, zone: string): DatedSpan | null {
  const span = parseSpan(text, now, zone);
  if (span === null) return null;
  const day = (stored: string): string => wallClock(stored, zone).slice(0, 10);
  return { ...span, firstDay: day(span.from), lastDay: day(span.until), zone };
}

/** What a clock in the zone shows at a stored moment. */
export function wallClock(stored: string, zone: string): string {
  const at = Date.parse(`${stored.replace(" ", "T")}Z`);
  return stamp(at + offsetMs(at, zone));
}

const germanDay = /^(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})$/;
const timeOfDay = /^(?:(.+?),?\s+(?:at\s+)?)?(\d{1,2})(?::(\d\d))?\s*(am|pm)?$/i;

/** `yesterday 14:00`, `26.11.2026 9:30`, `today at 8 am`: as the person's clock shows it. */
function localSpan(text: string, now: number, zone: string): Span | null {
  const [, named = "today", hour = "", minute, half] = timeOfDay.exec(text) ?? [];
  const hours = half === undefined ? Number(hour) : Number(hour) % 12 + (half.toLowerCase() === "pm" ? 12 : 0);
  if (hour === "" || (minute ?? half) === undefined || hours > 23 || Number(minute ?? "0") > 59) return null;
  const day = parseSpan(named, now, zone);
  const [first, last] = [day?.from ?? "", day?.until ?? ""].map((each) => each && wallClock(each, zone));
  if (first === undefined || first === "" || !first.endsWith("00:00:00") || last?.slice(0, 10) !== first.slice(0, 10)) {
    return null;
  }
  const at = momentOf(
    Date.parse(`${first.slice(0, 10)}T00:00:00Z`) + hours * hourMs + Number(minute ?? "0") * 60_000,
    zone,
  );
  return { from: stamp(at), until: stamp(at + 59_000), isLocal: true };
}

function parseSpan(text: string, now: number, zone: string): Span | null {
  const word = text.trim().toLowerCase().replaceAll(/\s+/g, " ");
  const [, dayOfMonth = "", monthOfYear = "", inYear] = germanDay.exec(text.trim()) ?? [];
  const iso = inYear === undefined
    ? text.trim()
    : `${inYear}-${monthOfYear.padStart(2, "0")}-${dayOfMonth.padStart(2, "0")}`;
  const written = absolute.exec(iso);
  if (written !== null) return writtenSpan(written, zone);
  const today = Math.floor((now + offsetMs(now, zone)) / dayMs) * dayMs;
  const date = new Date(today);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const monday = today - ((date.getUTCDay() + 6) % 7) * dayMs;
  const nearDay = ["yesterday", "today", "tomorrow"].indexOf(word) - 1;
  if (nearDay >= -1) return daySpan(today + nearDay * dayMs, zone);
  const [, named = "", calendar] = /^(last|this|next) (week|month|year)$/.exec(word) ?? [];
  const step = ["last", "this", "next"].indexOf(named) - 1;
  if (calendar === "week") return daySpan(monday + 7 * step * dayMs, zone, monday + 7 * (step + 1) * dayMs);
  if (calendar === "month") return daySpan(Date.UTC(year, month + step, 1), zone, Date.UTC(year, month + step + 1, 1));
  if (calendar === "year") return daySpan(Date.UTC(year + step, 0, 1), zone, Date.UTC(year + step + 1, 0, 1));
  if (word === "now") return { from: stamp(now), until: stamp(now) };
  const [, which = "", weekday = ""] = /^(last|next) (sun|mon|tues|wednes|thurs|fri|satur)day$/.exec(word) ?? [];
  if (weekday !== "") {
    const ahead = (weekdays.indexOf(weekday) - date.getUTCDay() + 7) % 7 || 7;
    return daySpan(today + (which === "next" ? ahead : ahead % 7 - 7) * dayMs, zone);
  }
  const [, direction = "", count = "1", unit = ""] =
    /^(last|past|next) (?:(\d{1,5}) )?(minute|hour|day|week)s?$/.exec(word) ?? [];
  const length = Math.min(Number(count), maxUnits) * (unitMs[unit] ?? 0);
  if (length > 0) {
    return direction === "next"
      ? { from: stamp(now), until: stamp(now + length) }
      : { from: stamp(now - length), until: stamp(now) };
  }
  const [, ahead = "", steps = "0", stepUnit = "", ago = ""] =
    /^(in )?(\d{1,5}) (minute|hour|day|week)s?( ago)?$/.exec(word) ?? [];
  if ((ahead === "") === (ago === "")) return localSpan(word, now, zone);
  const distance = Math.min(Number(steps), maxUnits) * (unitMs[stepUnit] ?? 0) * (ago === "" ? 1 : -1);
  if (stepUnit === "day" || stepUnit === "week") return daySpan(today + distance, zone);
  return { from: stamp(now + distance), until: stamp(now + distance) };
}

function writtenSpan(match: RegExpExecArray, zone: string): Span | null {
  const [, year = "", month = "", day = "", hour, minute = "0", second, offset = "Z"] = match;
  const date = Date.UTC(Number(year), Number(month) - 1, Number(day));
  if (stamp(date).slice(0, 10) !== `${year}-${month}-${day}`) return null;
  if (hour === undefined) return daySpan(date, zone);
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second ?? "0") > 59) return null;
  const at = date + Number(hour) * hourMs + Number(minute) * 60_000 + Number(second ?? "0") * 1_000;
  const [, sign = "+", hours = "0", minutes = "0"] = /^([+-])(\d\d):?(\d\d)$/.exec(offset) ?? [];
  const shift = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === "-" ? -1 : 1);
  return { from: stamp(at - shift), until: stamp(at - shift + (second === undefined ? 59_000 : 0)) };
}

const minutesOfDay = 1_440;
/** Zones lie between twelve hours behind UTC and fourteen ahead. */
const [minOffsetMinutes, maxOffsetMinutes] = [-720, 840];

/** The person's time zone, and when their own record was changed last. */
async function clockOf({ tableApi, remember, person }: DeskParts) {
  const own = await remember(["time zone"], async () => {
    const fields = ["time_zone", "sys_updated_on"];
    const own = await tableApi.row("sys_user", person.account.sysId, fields);
    if (!own.ok) return own;
    const zone = storedValue(own.value, "time_zone");
    const changed = storedValue(own.value, "sys_updated_on");
    return success({ zone: isTimeZone(zone) ? zone : shownZone(own.value) ?? "UTC", changed });
  });
  return own.ok ? own.value : { zone: "UTC", changed: "" };
}

/** The span that a text means to the person; `null` where it is no date. */
export async function datesOf(parts: DeskParts, text: string): Promise<DatedSpan | null> {
  return parseDates(text, parts.clock(), (await clockOf(parts)).zone);
}

/** A date as a field stores it: a day of the person's calendar, or a moment. */
export async function dateValue(
  parts: DeskParts,
  { name, value, isDay }: { readonly name: string; readonly value: string; readonly isDay: boolean },
): Answer<{ readonly stored: string; readonly shown: string }> {
  const dates = await datesOf(parts, value);
  if (dates === null) {
    return invalidInput(`${name}: write a date such as 2026-03-01${isDay ? "" : ", or 2026-03-01 08:00 in UTC"}`);
  }
  const stored = isDay ? dates.firstDay : dates.from;
  return success({ stored, shown: isDay ? stored : `${stored} UTC` });
}

/** A stored moment as a query has to name it: some instances read dates of queries in the person's zone. */
export async function queryMoment(parts: DeskParts, stored: string): Promise<string> {
  const { zone, changed } = await clockOf(parts);
  if (changed === "" || wallClock(changed, zone) === changed) return stored;
  const isLocal = await parts.remember(["dates of queries"], async () => {
    const finds = async (at: string): Promise<boolean> => {
      const query = `sys_id=${parts.person.account.sysId}^sys_updated_on>=${at}^sys_updated_on<=${at}`;
      const found = await parts.tableApi.rows("sys_user", { query, fields: [], limit: 1 });
      return found.ok && found.value.rows.length > 0;
    };
    return success(!await finds(changed) && await finds(wallClock(changed, zone)));
  });
  return isLocal.ok && isLocal.value ? wallClock(stored, zone) : stored;
}

/** People without a time zone use the instance's, which shows in how a stored moment is displayed. */
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
