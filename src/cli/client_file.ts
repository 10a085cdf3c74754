/** `connect CLIENT --write` and `--remove`: shows what changes in a client's own configuration file, and changes it. */
import { basename, dirname, join } from "node:path";
import { structuredPatch } from "diff";
import { randomId } from "../lib/secrets.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { type ClientFile, nested, tomlTable } from "../lib/client_configurations.ts";
import { type CommandContext, endWith, type ExitStatus } from "./command.ts";
import { isDeepStrictEqual } from "node:util";
import { createScanner, getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";

/** What is known of the machine and of whom to ask. */
interface Machine {
  readonly os: typeof Deno.build.os;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asks whether to go on; `null` without a terminal. */
  readonly ask: ((question: string) => Promise<boolean>) | null;
}

interface Change {
  readonly title: string;
  readonly file: ClientFile;
  /** What the entry shall be; `null` removes it. */
  readonly entry: Entry | null;
  /** Whether the change was agreed to beforehand. */
  readonly isAgreed: boolean;
  /** What the user does next. */
  readonly next: string;
}

/** Larger files are not a person's configuration. */
const maxFileBytes = 16 * 1_024 * 1_024;
const shownContextLines = 3;

/** Shows the change, asks, and writes. Expected refusals are told; nothing was changed then. */
export async function changeClientFile(
  { title, file, entry, isAgreed, next }: Change,
  { os, env, ask }: Machine,
  say: CommandContext["say"],
): Promise<ExitStatus> {
  const refuse = (words: string, hint: string): ExitStatus => endWith(say, `error: ${words}\nhint: ${hint}\n`);
  const places = file.places.map((place) => placeOn(place, { os, env }));
  const path = places.find((place) => placeExists(place)) ?? places[0] ?? "";
  const editor = path.endsWith(".toml") ? tomlEntry(file.keys) : jsonEntry(file.keys);
  const stored = await readFile(path);
  if (!stored.ok) return refuse(`${path}: ${stored.error}`, "nothing was changed");
  const [bom = ""] = /^\ufeff/.exec(stored.value ?? "") ?? [];
  const text = (stored.value ?? "").slice(bom.length);
  const there = editor.find(text);
  if (!there.ok) return refuse(`${path}, ${there.error}`, "nothing was changed; correct the file and try again");
  if (there.value !== null && !isOurs(there.value)) {
    return refuse(
      `${path} has an entry "${file.keys.at(-1)}" that connect did not write:\n${printable(there.value)}`,
      "nothing was changed; rename or remove that entry first",
    );
  }
  const changed = editor.put(text, entry);
  if (!changed.ok) return refuse(`${path}, ${changed.error}`, "nothing was changed");
  const isSame = changed.value === text;
  const origin = entry === null && !isSame ? await findOrigin(path, changed.value, editor) : null;
  const after = origin?.text ?? changed.value;
  if (isSame) {
    const has = entry === null ? "no entry of Portcullis" : "this entry already";
    return endWith(say, `${title}: ${path} has ${has}. Nothing was changed.\n`, 0);
  }

  const isEmpty = entry === null && origin === null && /^(?:[\s{}]|"\w+"\s*:)*$/.test(after); // nothing but the objects around it
  const replaces = entry !== null && there.value !== null ? " (replaces the entry that connect wrote before)" : "";
  say(`${title}: ${isEmpty ? "remove" : "change"} ${path}${replaces}\n${difference(text, after)}\n`);
  if (!isAgreed) {
    if (ask === null) return refuse("nothing was changed", "run it again with --yes");
    if (!await ask("Make this change? [y/N] ")) return endWith(say, "Nothing was changed.\n");
  }
  try {
    const [shown, isKept] = [stored.value, origin === null];
    const backup = await replaceFile(path, { shown, isKept, text: isEmpty ? null : bom + after });
    if (backup === false) {
      return refuse(`${path} was changed by another program meanwhile`, "nothing was changed; run it again");
    }
    if (origin !== null) await Deno.remove(origin.backup);
    const kept = backup === null ? "" : ` The file as it was: ${backup}`;
    say(`${isEmpty ? "Removed" : "Changed"} ${path}.${kept}\n${next}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof Error) || !(error.name in Deno.errors || "code" in error)) throw error;
    return refuse(`${path}: ${error.message}`, "nothing was changed");
  }
}

/** The path of a place as `ClientFile` writes it, on this machine. */
function placeOn(place: string, { os, env }: Pick<Machine, "os" | "env">): string {
  const home = (os === "windows" ? env["USERPROFILE"] : env["HOME"]) || "~";
  const xdg = os === "windows"
    ? env["APPDATA"] || join(home, "AppData/Roaming")
    : env["XDG_CONFIG_HOME"] || "~/.config";
  const config = os === "darwin" ? "~/Library/Application Support" : xdg;
  const path = place.replace(/^\$\{(\w+):-([^}]+)\}/, (_, name, otherwise) => env[name] || otherwise)
    .replace(/^CONFIG(?=\/)/, () => config).replace(/^XDG(?=\/)/, () => xdg)
    .replace(/^~(?=\/)/, () => home);
  return join(path);
}

function placeExists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** The file's text, with the mark that some begin with; `null` when there is none. */
async function readFile(path: string): Promise<Result<string | null, string>> {
  if (!placeExists(path)) return success(null);
  try {
    const { isFile, size } = await Deno.stat(path);
    if (!isFile) return failure("this is no file");
    if (size > maxFileBytes) return failure(`the file is larger than ${maxFileBytes} bytes`);
    return success(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await Deno.readFile(path)));
  } catch (error) {
    if (error instanceof TypeError) return failure("the file is not UTF-8 text");
    return failure(error instanceof Deno.errors.NotFound ? "this is a link to nothing" : String(error));
  }
}

/** Whether the text of an entry is one that `connect` wrote, for whichever address or directories. */
function isOurs(text: string): boolean {
  return /\b(?:url|httpUrl|serverUrl)"?\s*[:=]\s*"[^"]*\/mcp"/.test(text) ||
    (text.includes('"mcp-remote"') && text.includes('/mcp"')) ||
    (text.includes('"stdio"') && text.includes('"--workspace"'));
}

const backupMark = ".portcullis-backup-";

/** The backup of the file as it was before `connect` wrote its entry, if nothing else was changed since. */
async function findOrigin(path: string, without: string, editor: EntryEditor) {
  const names = await Array.fromAsync(Deno.readDir(dirname(path)), ({ name }) => name);
  for (const name of names.filter((each) => each.startsWith(`${basename(path)}${backupMark}`)).sort().reverse()) {
    const backup = join(dirname(path), name);
    const kept = await readFile(backup);
    const text = (kept.ok ? kept.value ?? "" : "").replace(/^\ufeff/, "");
    const [found, added] = [editor.find(text), editor.put(text, {})];
    const removed = added.ok && found.ok && found.value === null ? editor.put(added.value, null) : null;
    if (kept.ok && removed?.ok && removed.value === without) return { backup, text };
  }
  return null;
}

/**
 * Replaces the file at once and, where it `isKept`, keeps the one before beside it, or removes it (`text` is `null`); a
 * link stays one, the mode too. Says where the old one is, `null` without one; `false`, with nothing done, where it is
 * not what was shown.
 */
async function replaceFile(
  path: string,
  { shown, text, isKept }: { readonly shown: string | null; readonly text: string | null; readonly isKept: boolean },
): Promise<string | null | false> {
  const target = shown === null ? path : await Deno.realPath(path);
  await Deno.mkdir(dirname(target), { recursive: true });
  const temporary = `${target}.portcullis-${randomId()}`;
  try {
    if (shown !== null) {
      const { uid, gid } = await Deno.stat(target);
      await Deno.copyFile(target, temporary); // with its mode
      if (uid !== null && gid !== null) await Deno.chown(temporary, uid, gid);
    }
    if (text !== null) {
      using file = await Deno.open(temporary, { write: true, create: true, truncate: true, mode: 0o600 });
      const bytes = new TextEncoder().encode(text);
      for (let from = 0; from < bytes.length;) from += await file.write(bytes.subarray(from));
      await file.sync();
    }
    const now = await readFile(target);
    if (!now.ok || now.value !== shown) return false;
    if (text === null) {
      await Deno.remove(target);
      return null;
    }
    const backup = shown === null || !isKept
      ? null
      : `${path}${backupMark}${new Date().toISOString().replaceAll(/[:.]/g, "-")}`;
    if (backup !== null) await Deno.copyFile(target, backup);
    await Deno.rename(temporary, target);
    return backup;
  } finally {
    await Deno.remove(temporary).catch(() => {}); // which is gone when it was renamed
  }
}

/** The lines that differ, with some around them. */
function difference(before: string, after: string): string {
  const options = { context: shownContextLines, stripTrailingCr: true };
  const { hunks } = structuredPatch("", "", before, after, "", "", options);
  const lines = hunks.flatMap((hunk) => hunk.lines).filter((line) => !line.startsWith("\\")); // how the file ends
  return printable(lines.map((line) => `${line.slice(0, 1)} ${line.slice(1)}`).join("\n"));
}

/** Without characters that a terminal acts on. */
function printable(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

type Entry = Readonly<Record<string, unknown>>;

/**
 * Finds, sets and removes the entry below some keys as text, so that comments, order, indentation and line ends of the
 * rest stay. JSON may have comments and trailing commas. Failures say what is wrong, and in which line.
 */
interface EntryEditor {
  /** The text of the entry that is there; `null` when there is none. */
  find(text: string): Result<string | null, string>;
  /** The text with this entry; `null` removes it. */
  put(text: string, entry: Entry | null): Result<string, string>;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function faultAt(text: string, offset: number, words: string): Result<never, string> {
  return failure(`line ${text.slice(0, offset).split(/\r\n|\n|\r/).length}: ${words}`);
}

function lineEndOf(text: string): string {
  return /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";
}

/** The entry below these keys of a JSON file, with comments or without. */
export function jsonEntry(keys: readonly string[]): EntryEditor {
  return {
    find(text) {
      const place = locate(text, keys);
      if (!place.ok || place.value.missing.length > 0) return place.ok ? success(null) : place;
      const { offset, length } = valueOf(place.value.way.at(-1));
      return success(text.slice(offset, offset + length));
    },
    put(text, entry) {
      const place = locate(text, keys);
      if (!place.ok) return place;
      const { root, way, missing } = place.value;
      const last = way.at(-1);
      if (entry === null && missing.length > 0) return success(text);
      if (root === undefined) return success(text + JSON.stringify(nested(keys, entry ?? {}), null, 2) + "\n");
      let edits: readonly Edit[];
      if (last === undefined) edits = [insertion(text, root, nested(missing, entry ?? {}))];
      else if (entry === null) edits = removal(text, last);
      else if (missing.length === 0) edits = [replacement(text, last, entry)];
      else edits = [insertion(text, valueOf(last), nested(missing, entry))];
      const after = edits.toSorted((one, other) => other.start - one.start)
        .reduce((whole, edit) => whole.slice(0, edit.start) + edit.text + whole.slice(edit.end), text);
      // Read again: what a rare form of JSON made of it is not written.
      const written = parseObject(after);
      const isRight = written.ok && written.value !== undefined &&
        isDeepStrictEqual(contentOf(written.value), withEntry(contentOf(root), keys, entry));
      return isRight ? success(after) : faultAt(text, 0, "the file has a form that cannot be changed safely");
    },
  };
}

function parseObject(text: string): Result<Node | undefined, string> {
  const errors: ParseError[] = [];
  let root: Node | undefined;
  try {
    root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  } catch (error) {
    if (error instanceof RangeError) return faultAt(text, 0, "the file is nested too deeply"); // the stack's end
    throw error;
  }
  const [first] = errors;
  if (first !== undefined) {
    const words = printParseErrorCode(first.error).replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
    return faultAt(text, first.offset, `the file is not valid JSON (${words})`);
  }
  return root === undefined || root.type === "object"
    ? success(root)
    : faultAt(text, root.offset, "the file does not hold a JSON object");
}

/** The properties of these keys, each in the one before it, as far as they are there; `missing` are the other keys. */
function locate(text: string, keys: readonly string[]) {
  const parsed = parseObject(text);
  if (!parsed.ok) return parsed;
  const way: Node[] = [];
  let inside = parsed.value;
  for (const key of keys) {
    if (inside !== undefined && inside.type !== "object") {
      return faultAt(text, inside.offset, `${JSON.stringify(keys[way.length - 1])} is not an object`);
    }
    const property = inside?.children?.findLast(({ children }) => children?.[0]?.value === key); // as readers take it
    if (property === undefined) break;
    way.push(property);
    inside = valueOf(property);
  }
  return success({ root: parsed.value, way, missing: keys.slice(way.length) });
}

function valueOf(property: Node | undefined): Node {
  const value = property?.children?.[1];
  if (value === undefined) throw new TypeError("a property without a value"); // parse errors are refused
  return value;
}

function contentOf(root: Node): unknown {
  return JSON.parse(JSON.stringify(getNodeValue(root))); // whose objects have no prototype
}

function withEntry(value: unknown, [key = "", ...inner]: readonly string[], entry: Entry | null): Entry {
  const { [key]: old, ...others } = value as Record<string, unknown>;
  const next = inner.length > 0 ? withEntry(old ?? {}, inner, entry) : entry;
  return next === null ? others : { ...others, [key]: next };
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

/** The blanks from the line's beginning to what is at `offset`; `null` when something else is between. */
function indentBefore(text: string, offset: number): string | null {
  return /(?<=[\r\n])[ \t]*$/.exec(text.slice(0, offset))?.[0] ?? null;
}

/** What the line with `offset` begins with. */
function indentOfLine(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(0, offset).split(/[\r\n]/).at(-1) ?? "")?.[0] ?? "";
}

function written(text: string, value: object, indent: string): string {
  const unit = /(?<=[\r\n])[ \t]+(?=")/.exec(text)?.[0] ?? "  ";
  return JSON.stringify(value, null, unit).replaceAll("\n", `${lineEndOf(text)}${indent}`);
}

function replacement(text: string, property: Node, value: object): Edit {
  const { offset, length } = valueOf(property);
  const isInline = indentBefore(text, property.offset) === null;
  const entry = isInline ? JSON.stringify(value) : written(text, value, indentOfLine(text, property.offset));
  return { start: offset, end: offset + length, text: entry };
}

/** Puts the one property of `value` before the others of an object: beside them, or on lines of its own as they are. */
function insertion(text: string, object: Node, value: object): Edit {
  const start = object.offset + 1;
  const [first] = object.children ?? [];
  const own = indentOfLine(text, object.offset);
  const indent = first === undefined ? null : indentBefore(text, first.offset);
  if (first !== undefined && indent === null) {
    return { start: first.offset, end: first.offset, text: `${JSON.stringify(value).slice(1, -1)}, ` };
  }
  const lines = written(text, value, own).slice(1, -1).trimEnd(); // without the braces
  const rest = text.slice(start, endOf(object) - 1);
  const close = /^[ \t]*[\r\n]/.test(rest) ? "" : `${lineEndOf(text)}${own}`;
  return { start, end: start, text: lines + (first === undefined ? "" : ",") + close };
}

/** Where the comma behind a property begins; `null` when there is none. */
function commaAfter(text: string, property: Node): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(endOf(property));
  scanner.scan();
  return text[scanner.getTokenOffset()] === "," ? scanner.getTokenOffset() : null;
}

function removal(text: string, property: Node): readonly Edit[] {
  const siblings = property.parent?.children ?? [];
  const before = siblings[siblings.indexOf(property) - 1];
  const comma = commaAfter(text, property);
  const between = before === undefined || comma !== null ? null : commaAfter(text, before);
  const end = comma === null ? endOf(property) : comma + 1;
  const isInline = indentBefore(text, property.offset) === null;
  const blanks = isInline ? /[ \t]*/y : /$/y;
  blanks.lastIndex = end;
  const start = isInline ? property.offset : text.slice(0, property.offset).search(/(?:\r\n|[\r\n])[ \t]*$/);
  const own = { start, end: end + (blanks.exec(text)?.[0].length ?? 0), text: "" };
  return between === null ? [own] : [own, { start: between, end: between + 1, text: "" }];
}

/** Strings and comments of TOML; a string of several lines may hold what looks like a table. */
const tomlTexts =
  /"""(?:\\[^]|(?!""")[^\\])*"{3,5}|'''(?:(?!''')[^])*'{3,5}|"(?!"")(?:[^"\\\n]|\\.)*"|'(?!'')[^'\n]*'|#[^\n]*/g;

/** A table's header alone on its line; in a list of lists a line can look like one, which ends a table too early at worst. */
const header = /^[ \t]*(\[\[?)([^[\],=]+)\]\]?[ \t]*(?:#.*)?$/;

/** The table of these keys in a TOML file, with those below it: appended, and found by its header. */
export function tomlEntry(keys: readonly string[]): EntryEditor {
  const name = keys.join(".");
  const [parent, own] = keys;
  const elsewhere = new RegExp(
    `^[ \\t]*(?:\\[*[ \\t]*["']?${parent}["']?[ \\t]*(?:=|\\.[ \\t]*["']?${own}\\b)|["']?${own}["']?[ \\t]*[.=])`,
  );
  const locateTable = (text: string) => {
    const open = /["']/.exec(text.replace(tomlTexts, (part) => part.replace(/[^\n]/g, "_")));
    if (open !== null) return faultAt(text, open.index, "the file is not valid TOML: a text does not end");
    const lines = text.split(/(?<=\n)/);
    const plain = text.replace(tomlTexts, (part) => part.includes("\n") ? part.replace(/[^\n]/g, "_") : part)
      .split(/(?<=\n)/);
    const tables = plain.map((line) => {
      const [, open, dotted = ""] = header.exec(line.trimEnd()) ?? [];
      return open === "[" ? dotted.replaceAll(/["'\s]/g, "") : open;
    });
    const start = tables.indexOf(name);
    const next = tables.findIndex((table, index) =>
      index > start && table !== undefined && !table.startsWith(`${name}.`)
    );
    const limit = next < 0 ? lines.length : next;
    const end = start < 0 ? start : plain.slice(0, limit).findLastIndex((line) => !/^\s*(?:#.*)?$/.test(line)) + 1;
    const other = plain.findIndex((line, index) => (index < start || index >= end) && elsewhere.test(line));
    if (other >= 0) return failure(`line ${other + 1}: this entry has a form that connect does not change`);
    const partOf = (from: number, to?: number): string => lines.slice(from, to).join("");
    return success(
      start < 0
        ? { before: text, table: null, after: "" }
        : { before: partOf(0, start), table: partOf(start, end), after: partOf(end) },
    );
  };
  return {
    find(text) {
      const found = locateTable(text);
      return found.ok ? success(found.value.table) : found;
    },
    put(text, entry) {
      const found = locateTable(text);
      if (!found.ok) return found;
      const { before, table, after } = found.value;
      if (entry === null) return success(table === null ? text : before.replace(/(?<=\n)\r?\n$/, "") + after);
      const lineEnd = lineEndOf(text);
      const own = tomlTable(keys, entry).replaceAll("\n", lineEnd) + lineEnd;
      if (table !== null || before === "") return success(before + own + after);
      return success(`${before}${before.endsWith("\n") ? "" : lineEnd}${lineEnd}${own}`);
    },
  };
}
