/** One line of the stored audit, and its stored text. */
import { boundedMap } from "../lib/bounded_map.ts";
import { isObject } from "../lib/json.ts";

/** The event of a tool's call. */
export const callEvent = "call";

/** Who did what, with which outcome. No contents, no secrets; what a caller chose is cut to a bound. */
export interface AuditLine {
  /** When it ended, in milliseconds since the epoch. */
  readonly time: number;
  /** `call` for a tool, `request` for any other request, else the name of the log line, such as `sign_in`. */
  readonly event: string;
  readonly person: string | null;
  readonly client: string | null;
  /** The grant, or the token of the command line. */
  readonly grant: string | null;
  /** The tool; for other requests the method. */
  readonly tool: string | null;
  /** The file, record or model, in short. */
  readonly target: string | null;
  readonly address: string | null;
  readonly outcome: string | null;
  readonly code: string | null;
  readonly durationMs: number | null;
  /** Names the change in the trash that can be undone. */
  readonly change: string | null;
  readonly requestId: string | null;
}

export const emptyLine: AuditLine = {
  time: 0,
  event: "",
  person: null,
  client: null,
  grant: null,
  tool: null,
  target: null,
  address: null,
  outcome: null,
  code: null,
  durationMs: null,
  change: null,
  requestId: null,
};

const maxCharacters = 200;
/** Between lines of a batch. Neither mark is escaped by JSON, so a batch is parsed as fast as it is copied. */
export const auditLineEnd = "~";
const fieldEnd = "|";
// What JSON would escape, and our own marks.
// deno-lint-ignore no-control-regex
const escaped = /[%"\\|~\u0000-\u001f\u007f-\u009f]/g;
// Also what may be half a pair.
// deno-lint-ignore no-control-regex
const needsCare = /[%"\\|~\u0000-\u001f\u007f-\u009f\ud800-\udfff]/;

/** A field's text as it is stored. */
export function encodeField(text: string): string {
  if (text.length <= maxCharacters && !needsCare.test(text)) return text;
  const short = text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text;
  return short.toWellFormed().replace(escaped, escape);
}

function escape(sign: string): string {
  return `%${sign.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

function field(text: string | null): string {
  return text === null ? fieldEnd : fieldEnd + encodeField(text);
}

const maxKeptFields = 1_000;
const keptFields = boundedMap<string, string>(maxKeptFields);

/** The same for texts of which there are few, such as names of tools: encoded once. */
function keptField(text: string | null): string {
  if (text === null) return fieldEnd;
  let encoded = keptFields.get(text);
  if (encoded === undefined) {
    encoded = field(text);
    if (text.length <= maxCharacters) keptFields.set(text, encoded);
  }
  return encoded;
}

/** What is the same for many lines. */
type SharedFields = Pick<
  AuditLine,
  "event" | "person" | "client" | "grant" | "tool" | "address" | "outcome" | "code"
>;

/** The stored text, without its end. */
export function encodeLine(line: AuditLine): string {
  const { event, tool, target, address, outcome, code, change } = line;
  return `${line.time}${keptField(event)}${keptField(line.person)}${keptField(line.client)}${keptField(line.grant)}${
    keptField(tool)
  }${field(target)}${field(address)}` +
    `${keptField(outcome)}${keptField(code)}|${durationText(line)}${field(change)}${field(line.requestId)}`;
}

/** The same without {@link SharedFields}. */
function encodeShortLine(line: AuditLine): string {
  return `${line.time}|||||${field(line.target)}||||${durationText(line)}${field(line.change)}${field(line.requestId)}`;
}

function durationText({ durationMs }: AuditLine): string {
  return durationMs === null ? "" : String(Math.round(durationMs * 100) / 100);
}

/** The inverse of {@link encodeLine}, and of {@link encodeShortLine} with the text of a line that has its other fields. */
export function decodeLine(text: string, spelled = text): AuditLine {
  const own = text.split(fieldEnd);
  const shared = spelled === text ? own : spelled.split(fieldEnd);
  const duration = fieldAt(own, 10);
  return {
    time: Number(own[0]),
    event: fieldAt(shared, 1) ?? "",
    person: fieldAt(shared, 2),
    client: fieldAt(shared, 3),
    grant: fieldAt(shared, 4),
    tool: fieldAt(shared, 5),
    target: fieldAt(own, 6),
    address: fieldAt(shared, 7),
    outcome: fieldAt(shared, 8),
    code: fieldAt(shared, 9),
    durationMs: duration === null ? null : Number(duration),
    change: fieldAt(own, 11),
    requestId: fieldAt(own, 12),
  };
}

function fieldAt(fields: readonly string[], index: number): string | null {
  const found = fields[index] ?? "";
  if (found === "") return null;
  return found.includes("%")
    ? found.replace(/%([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : found;
}

// What a request touches, in short: a file, a record, a model. Never contents.

const maxNames = 3;
/** Of a longer list, the beginning. */
const maxNamesCounted = 1_000;
const touchedMaxCharacters = 200;

/** From the parameters of a request, as the caller sent them; `null` where they name nothing. */
export function touchedBy(params: unknown): string | null {
  if (!isObject(params)) return null;
  const input = params["arguments"];
  if (!isObject(input)) return text(params["uri"]);
  const table = text(input["table"]);
  const record = text(input["id"]) ?? text(input["number"]) ?? text(input["attachment_id"]);
  if (table !== null || record !== null) return short([table, record].filter((part) => part !== null).join(" "));
  const { files, edits, paths } = input;
  const path = text(input["path"]) ?? text(input["filename"]);
  const destination = text(input["destination"]);
  const more = names(path, [[input["against"]], files, edits, paths]);
  const from = path ?? (more === "" ? null : more.slice(2));
  if (destination !== null) return from === null ? destination : short(`${from} > ${destination}`);
  if (more !== "") return short(path === null ? more.slice(2) : path + more);
  return path ?? text(input["model"]);
}

/** Further files than `first`, each once, after a comma; `lists` hold names, or what has one. */
function names(first: string | null, lists: readonly unknown[]): string {
  const found = new Set<string>();
  for (const each of lists.filter(Array.isArray).flat().slice(0, maxNamesCounted)) {
    const name = isObject(each) ? text(each["path"]) ?? text(each["filename"]) : text(each);
    if (name !== null && name !== first) found.add(name);
  }
  const shown = Array.from(found).slice(0, maxNames).map((name) => `, ${name}`).join("");
  return shown + (found.size > maxNames ? `, and ${found.size - maxNames} more` : "");
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? short(value) : null;
}

/** A copy: a slice would keep the whole text in memory. */
function short(value: string): string {
  return value.length <= touchedMaxCharacters
    ? value
    : JSON.parse(JSON.stringify(value.slice(0, touchedMaxCharacters)));
}

// * The text of a batch. Who called what, with which outcome, is the same for many lines: the first of them spells it, the
// others name that line. An earlier version shows the others without those fields.

interface SpelledLine {
  readonly index: number;
  readonly shared: SharedFields;
}

/** Encodes the lines of one batch. */
export interface BatchEncoder {
  /** The text of the next line, with its end. */
  encode(line: AuditLine): string;
}

/** Lines of one grant that others may name, and grants with such lines: all further lines are spelled. */
const maxSpelledOfGrant = 16;
const maxGrants = 500;
/** No field holds it: a single sign of percent is escaped. */
const spelledMark = "|%%";

export function createBatchEncoder(): BatchEncoder {
  const grants = new Map<string | null, SpelledLine[]>();
  let count = 0;
  return {
    encode(line) {
      const index = count++;
      let spelled = grants.get(line.grant);
      if (spelled !== undefined) {
        for (const each of spelled) {
          if (isShared(each.shared, line)) return encodeShortLine(line) + spelledMark + each.index + auditLineEnd;
        }
      } else if (grants.size < maxGrants) grants.set(line.grant, spelled = []);
      if (spelled !== undefined && spelled.length < maxSpelledOfGrant) spelled.push({ index, shared: line });
      return encodeLine(line) + auditLineEnd;
    },
  };
}

function isShared(first: SharedFields, second: SharedFields): boolean {
  return first.tool === second.tool && first.outcome === second.outcome && first.code === second.code &&
    first.event === second.event && first.person === second.person && first.client === second.client &&
    first.grant === second.grant && first.address === second.address;
}

/** The texts of a batch's lines, without their ends. */
export function splitLines(lines: string): readonly string[] {
  return lines.split(auditLineEnd).slice(0, -1);
}

/** The line that spells what `text`, one of `texts`, leaves out: `text` itself where that is nothing. */
export function spelledFor(texts: readonly string[], text: string): string {
  const at = text.lastIndexOf(spelledMark);
  return at < 0 ? text : texts[Number(text.slice(at + spelledMark.length))] ?? text;
}

/** The lines of a batch. */
export function decodeLines(lines: string): readonly AuditLine[] {
  const texts = splitLines(lines);
  return texts.map((text) => decodeLine(text, spelledFor(texts, text)));
}
