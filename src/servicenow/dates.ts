/** Dates and lengths of time as people say them, and as the instance stores them in UTC. */
import { counted } from "../lib/result.ts";
import { ifShown, invalidInput } from "./failure.ts";
import type { DeskParts } from "./table_api.ts";
import { displayValue, type RecordFields, storedValue } from "./field_values.ts";

/** From the first moment to the last, both included. */
interface Span {
  readonly start: Temporal.ZonedDateTime;
  readonly end: Temporal.ZonedDateTime;
  /** Whether it is a day or a time of day as the person's calendar and clock show it. */
  readonly isLocal?: boolean;
}

/** Days of a calendar: the first, and how long they last. */
type Days = readonly [first: Temporal.PlainDate, length: Temporal.DurationLike];

const oneDay = { days: 1 };
const weekdays = ["mon", "tues", "wednes", "thurs", "fri", "satur", "sun"];
const months = ["jan", "feb", "mar mär", "apr", "may mai", "jun", "jul", "aug", "sep", "oct okt", "nov", "dec dez"];

/** Whether the platform knows a time zone of this name. */
function isTimeZone(zone: string): boolean {
  try {
    return Temporal.Now.zonedDateTimeISO(zone) !== undefined;
  } catch {
    return false;
  }
}

/** As the instance stores moments: UTC, to the second. */
function stamp(moment: Temporal.ZonedDateTime): string {
  return moment.toInstant().toString().slice(0, 19).replace("T", " ");
}

/** The milliseconds of a stored moment; `NaN` of any other text. */
export function momentOf(stored: string): number {
  return Date.parse(`${stored.replace(" ", "T")}Z`);
}

/** What a clock in the zone shows at a stored moment. */
export function wallClock(stored: string, zone: string): string {
  const at = momentOf(stored);
  if (Number.isNaN(at)) return stored;
  const local = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDateTime();
  return local.toString({ smallestUnit: "second" }).replace("T", " ");
}

/**
 * The span that `text` means, in UTC as the instance stores it, and its days on the person's calendar; `null` when it is
 * no date. Times without a zone are UTC, days are the person's own.
 */
export function parseDates(text: string, now: number, zone: string) {
  const span = parseSpan(text, Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone));
  if (span === null) return null;
  const { start, end, isLocal } = span;
  if (start.year < 1 || end.year > 9999) return null;
  const [firstDay, lastDay] = [start.toPlainDate().toString(), end.toPlainDate().toString()];
  /** Whether it is one day, or one moment as it is written. */
  const isOne = isLocal === true ? firstDay === lastDay : end.epochMilliseconds - start.epochMilliseconds < 60_000;
  return { from: stamp(start), until: stamp(end), firstDay, lastDay, zone, isLocal, isOne };
}

function parseSpan(text: string, now: Temporal.ZonedDateTime): Span | null {
  const word = text.trim().toLowerCase().replaceAll(/\s+/g, " ");
  if (word === "now") return { start: now, end: now };
  const days = parseDays(word, now.toPlainDate());
  if (days !== null) {
    const [first, length] = days;
    const end = first.add(length).toZonedDateTime(now.timeZoneId).subtract({ seconds: 1 });
    return { start: first.toZonedDateTime(now.timeZoneId), end, isLocal: true };
  }
  const [, direction, count = "1", unit, ago] =
    /^(?:(last|past|next|in) )?(?:(\d{1,4}) )?(minute|hour|day|week|month|year)s?( ago)?$/.exec(word) ?? [];
  if (unit !== undefined && (direction === undefined) !== (ago === undefined)) {
    const isAhead = direction === "next" || direction === "in";
    const edge = now.add({ [`${unit}s`]: Number(count) * (isAhead ? 1 : -1) });
    if (direction === "in" || direction === undefined) return { start: edge, end: edge };
    return isAhead ? { start: now, end: edge } : { start: edge, end: now };
  }
  return writtenMoment(word, now) ?? timeOfDay(word, now);
}

/** Whole days: `2026-11-26`, `26.11.2026`, `26 Nov 2026`, `yesterday`, `last month`, `next friday`, `3 days ago`. */
function parseDays(word: string, today: Temporal.PlainDate): Days | null {
  const written = writtenDay(word);
  if (written !== null) return [written, oneDay];
  const near = ["yesterday", "today", "tomorrow"].indexOf(word);
  if (near >= 0) return [today.add({ days: near - 1 }), oneDay];
  const [, which = "", unit = ""] = /^(last|this|next) (week|month|year)$/.exec(word) ?? [];
  const beginnings: Readonly<Record<string, Temporal.PlainDate>> = {
    week: today.subtract({ days: today.dayOfWeek - 1 }),
    month: today.with({ day: 1 }),
    year: today.with({ month: 1, day: 1 }),
  };
  const beginning = beginnings[unit];
  if (beginning !== undefined) {
    const step = ["last", "this", "next"].indexOf(which) - 1;
    return [beginning.add({ [`${unit}s`]: step }), { [`${unit}s`]: 1 }];
  }
  const [, direction, weekday = ""] = /^(last|next) (mon|tues|wednes|thurs|fri|satur|sun)day$/.exec(word) ?? [];
  if (direction !== undefined) {
    const ahead = (weekdays.indexOf(weekday) + 7 - today.dayOfWeek) % 7 + 1; // 1, tomorrow, to 7
    return [today.add({ days: direction === "next" ? ahead : ahead % 7 - 7 }), oneDay]; // last: -7 to -1
  }
  const [, ahead, steps, step, ago] = /^(in )?(\d{1,4}) (day|week|month|year)s?( ago)?$/.exec(word) ?? [];
  if (step === undefined || (ahead === undefined) === (ago === undefined)) return null;
  return [today.add({ [`${step}s`]: Number(steps) * (ago === undefined ? 1 : -1) }), oneDay];
}

function writtenDay(word: string): Temporal.PlainDate | null {
  const [, year, , month, day] = /^(\d{4})([-/.])(0?[1-9]|1[0-2])\2(0?[1-9]|[12]\d|3[01])$/.exec(word) ?? [];
  const numbered = word.replace(/^(\p{L}{3,9}\.?) (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})$/u, "$2 $1 $3").replace(
    /^(\d{1,2})(?:\.|st|nd|rd|th)? (\p{L}{3})\p{L}*\.? (\d{4})$/u,
    (_, day, name, ofYear) => `${day}.${months.findIndex((each) => each.includes(name)) + 1}.${ofYear}`,
  );
  const [, germanDay, germanMonth, germanYear] = /^(\d{1,2})\. ?(0?[1-9]|1[0-2])\. ?(\d{4})$/.exec(numbered) ?? [];
  if (year === undefined && germanYear === undefined) return null;
  const numbers = {
    year: Number(year ?? germanYear),
    month: Number(month ?? germanMonth),
    day: Number(day ?? germanDay),
  };
  const date = numbers.day === 0 ? null : Temporal.PlainDate.from(numbers); // 31 February becomes the 28th
  return date?.day === numbers.day ? date : null;
}

/** `2026-03-01 08:00`, `2026-03-01T08:00:00+02:00`: in UTC where no zone is given. */
function writtenMoment(word: string, now: Temporal.ZonedDateTime): Span | null {
  const [, day = "", minute = "", second, offset = "z"] =
    /^(\S{10})[t ]((?:[01]?\d|2[0-3]):[0-5]\d)(:[0-5]\d)?(?:\.\d{1,3})? ?(z|utc|[+-](?:0\d|1[0-4]):?[0-5]\d)?$/.exec(
      word,
    ) ??
      [];
  if (writtenDay(day) === null || !day.includes("-")) return null;
  const instant = Temporal.Instant.from(
    `${day}t${minute.padStart(5, "0")}${second ?? ":00"}${offset === "utc" ? "z" : offset}`,
  );
  const start = instant.toZonedDateTimeISO(now.timeZoneId);
  return { start, end: second === undefined ? start.add({ seconds: 59 }) : start };
}

/** `yesterday 14:00`, `26.11.2026 9:30`, `today at 8 am`: as the person's clock shows it. */
function timeOfDay(word: string, now: Temporal.ZonedDateTime): Span | null {
  const [, named = "today", written, minute, half] =
    /^(?:(.+?),? (?:at )?)?(\d|[01]\d|2[0-3])(?::([0-5]\d))? ?(am|pm)?$/.exec(word) ?? [];
  const days = (minute ?? half) === undefined ? null : parseDays(named, now.toPlainDate());
  const isWrong = half !== undefined && (Number(written) < 1 || Number(written) > 12);
  if (days === null || days[1] !== oneDay || isWrong) return null;
  const hour = half === undefined ? Number(written) : Number(written) % 12 + (half === "pm" ? 12 : 0);
  const plainTime = { hour, minute: Number(minute ?? "0") };
  const start = days[0].toZonedDateTime({ timeZone: now.timeZoneId, plainTime });
  return { start, end: start.add({ seconds: 59 }), isLocal: true };
}

const minutesOfDay = 1_440;
const [minMinutesAhead, maxMinutesAhead] = [-600, 840];

/** The person's time zone, and when their own record was changed last. */
async function clockOf({ tableApi, remember, person }: DeskParts) {
  return await ifShown(
    remember(["time zone"], async () => {
      const own = await tableApi.row("sys_user", person.account.sysId, ["time_zone", "sys_updated_on"]);
      const zone = storedValue(own, "time_zone");
      return { zone: isTimeZone(zone) ? zone : shownZone(own), changed: storedValue(own, "sys_updated_on") };
    }),
    { zone: "UTC", changed: "" },
  );
}

/** The span that a text means to the person; `null` where it is no date. */
export async function datesOf(parts: DeskParts, text: string) {
  return parseDates(text, parts.clock(), (await clockOf(parts)).zone);
}

/** A date as a field stores it: a day of the person's calendar, or a moment. */
export async function dateValue(
  parts: DeskParts,
  { name, value, isDay }: { readonly name: string; readonly value: string; readonly isDay: boolean },
): Promise<{ readonly stored: string; readonly shown: string }> {
  const dates = await datesOf(parts, value);
  if (dates?.isOne !== true) {
    const form = isDay
      ? "one day, such as 2026-03-01"
      : "one day or moment, such as 2026-03-01 or 2026-03-01 08:00 (UTC)";
    throw invalidInput(`${name}: write ${form}`);
  }
  const stored = isDay ? dates.firstDay : dates.from;
  return { stored, shown: isDay ? stored : `${stored} UTC` };
}

/** A stored moment as a query has to name it: some instances read dates of queries in the person's zone. */
export async function queryMoment(parts: DeskParts, stored: string): Promise<string> {
  const { zone, changed } = await clockOf(parts);
  if (changed === "" || wallClock(changed, zone) === changed) return stored;
  const isLocal = await parts.remember(["dates of queries"], async () => {
    const finds = async (at: string): Promise<boolean> => {
      const query = `sys_id=${parts.person.account.sysId}^sys_updated_on>=${at}^sys_updated_on<=${at}`;
      return (await parts.tableApi.rowsIfShown("sys_user", { query, fields: [], limit: 1 })).length > 0;
    };
    return !await finds(changed) && await finds(wallClock(changed, zone));
  });
  return isLocal ? wallClock(stored, zone) : stored;
}

/** People without a time zone use the instance's, which shows in how a stored moment is displayed. */
function shownZone(record: RecordFields): string {
  const stored = storedValue(record, "sys_updated_on");
  const [, hour, minute] = / (\d\d):(\d\d)/.exec(stored) ?? [];
  const [, date = "", shownHour, shownMinute, half] =
    /^(\S*\d\S*)\s+(\d{1,2})[:.](\d\d)(?:[:.]\d\d)?\s*([ap]m)?$/i.exec(displayValue(record, "sys_updated_on")) ?? [];
  if (hour === undefined || shownHour === undefined) return "UTC";
  const shown = half === undefined ? Number(shownHour) : Number(shownHour) % 12 + (/p/i.test(half) ? 12 : 0);
  const between = (shown - Number(hour)) * 60 + Number(shownMinute) - Number(minute);
  // Most people live from ten hours behind UTC to less than fourteen ahead of it; the day shows who does not.
  const usual = (between + 2 * minutesOfDay - minMinutesAhead) % minutesOfDay + minMinutesAhead;
  const { day } = Temporal.PlainDateTime.from(stored.replace(" ", "T")).add({ minutes: usual });
  const isSameDay = date.split(/\D+/).some((part) => Number(part) === day);
  const other = usual - Math.sign(usual) * minutesOfDay;
  const ahead = isSameDay || Math.abs(other) > maxMinutesAhead ? usual : other;
  const size = Temporal.PlainTime.from("00:00").add({ minutes: Math.abs(ahead) });
  return `${ahead < 0 ? "-" : "+"}${size.toString({ smallestUnit: "minute" })}`;
}

// Lengths of time (product documentation "Duration field"), each stored as the moment so long after 1970 began.

/** Types of columns that hold one, and names of such columns. */
export const lengthTypes = /^(glide_duration|timer)$/;
export const lengthNames = /(^|[._])(duration|time_left|time_worked)$/;
const unitSeconds: Readonly<Record<string, number>> = { w: 604_800, d: 86_400, h: 3_600, m: 60, s: 1 };
const lengthPart =
  /(\d{1,5}(?:\.\d{1,3})?) ?(w|weeks?|d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)(?![a-z]),?(?: and)? ?/g;

/** `1 day 3 hours`, `90m`, `1 03:00:00` or a stored length, as it is stored; `null` for any other text. */
export function parseLength(text: string): string | null {
  const word = text.trim().toLowerCase();
  if (/^19[67]\d-\d\d-\d\d \d\d:\d\d:\d\d$/.test(word)) return word;
  const spelled = word.replace(/^(?:\d{1,2}:){2}\d{1,2}$/, "0 $&").replace(/^(\d+) (\d+):(\d+):(\d+)$/, "$1d$2h$3m$4s");
  const parts = [...spelled.matchAll(lengthPart)];
  if (parts.length === 0 || spelled.replace(lengthPart, "") !== "") return null;
  const seconds = parts.reduce((sum, [, count, [unit = ""] = ""]) => sum + Number(count) * (unitSeconds[unit] ?? 0), 0);
  return stamp(Temporal.Instant.fromEpochMilliseconds(Math.round(seconds) * 1_000).toZonedDateTimeISO("UTC"));
}

/** `1 day 3 hours`, of a stored length; any other text as it is. */
export function lengthWords(stored: string): string {
  const seconds = momentOf(stored) / 1_000;
  if (Number.isNaN(seconds)) return stored;
  const length = Temporal.Duration.from({ seconds }).abs().round({ largestUnit: "days" });
  const words = (["days", "hours", "minutes", "seconds"] as const).flatMap((unit) =>
    length[unit] === 0 ? [] : counted(length[unit], unit.slice(0, -1))
  );
  return `${seconds < 0 ? "-" : ""}${words.join(" ") || "0 seconds"}`;
}
