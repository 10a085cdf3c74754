/** One line of the stored audit, and its stored text. */
import { boundedMap } from "../lib/bounded_map.ts";

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
export type SharedFields = Pick<
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
export function encodeShortLine(line: AuditLine): string {
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
