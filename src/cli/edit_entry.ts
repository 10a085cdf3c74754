/**
 * One entry in a configuration file of someone else: found, set and removed as text, so that comments, order,
 * indentation and line ends of the rest stay. JSON may have comments and trailing commas. Pure.
 */
import { createScanner, getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { nested, tomlTable } from "../lib/client_configurations.ts";
import { failure, type Result, success } from "../lib/result.ts";

/** What an entry says: an object, or the text of a TOML table as it stands in a file. */
type Entry = object | string;

/** What reads and changes the entry below some keys. Failures say what is wrong, and in which line. */
export interface EntryEditor {
  /** The entry that is there; `null` when there is none. */
  find(text: string): Result<{ readonly entry: Entry; readonly text: string } | null, string>;
  /** The text with this entry: in the place of one that is there, else after what is there. */
  set(text: string, entry: Entry): Result<string, string>;
  /** The text without the entry. */
  remove(text: string): Result<string, string>;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function applied(text: string, edits: readonly Edit[]): string {
  return edits.toSorted((one, other) => other.start - one.start)
    .reduce((whole, edit) => whole.slice(0, edit.start) + edit.text + whole.slice(edit.end), text);
}

function faultAt(text: string, offset: number, words: string): Result<never, string> {
  return failure(`line ${text.slice(0, offset).split(/\r\n|\n|\r/).length}: ${words}`);
}

function lineEndOf(text: string): string {
  return /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";
}

/** The entry below these keys of a JSON file, with comments or without. */
export function jsonEntry(keys: readonly string[]): EntryEditor {
  const found = (text: string) => findProperty(text, keys);
  /** The change is read again: what a rare form of JSON made of it is not written. */
  const checked = (before: string, after: string, expected: object): Result<string, string> => {
    const root = parseObject(after);
    const isRight = root.ok && JSON.stringify(valueOf(root.value)) === JSON.stringify(expected);
    return isRight ? success(after) : faultAt(before, 0, "the file has a form that cannot be changed safely");
  };
  return {
    find(text) {
      const place = found(text);
      if (!place.ok || place.value.property === undefined) return place.ok ? success(null) : place;
      const node = partsOf(place.value.property).value;
      return success({ entry: { ...getNodeValue(node) }, text: text.slice(node.offset, node.offset + node.length) });
    },
    set(text, entry) {
      const place = found(text);
      if (!place.ok) return place;
      const { root, parent, property, missing } = place.value;
      if (parent === undefined || root === undefined) {
        const end = lineEndOf(text);
        const glue = text === "" || /[\r\n]$/.test(text) ? "" : end;
        return success(
          text + glue + JSON.stringify(nested(keys, entry as object), null, 2).replaceAll("\n", end) + end,
        );
      }
      const [name = "", ...inner] = missing;
      const value = nested(inner, entry as object);
      const edits = property === undefined
        ? insertion(text, root, parent, name, value)
        : [replacement(text, root, parent, property, value)];
      return checked(text, applied(text, edits), withEntry(valueOf(root), keys, entry));
    },
    remove(text) {
      const place = found(text);
      if (!place.ok) return place;
      const { root, parent, property } = place.value;
      if (root === undefined || parent === undefined || property === undefined) return success(text);
      const edits = removal(text, parent, property);
      return checked(text, applied(text, edits), withEntry(valueOf(root), keys, undefined));
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

/**
 * The property of these keys; `parent` is the innermost object of the path that is there, `missing` the keys from that
 * object on: at least the last one.
 */
function findProperty(text: string, keys: readonly string[]) {
  const parsed = parseObject(text);
  if (!parsed.ok) return parsed;
  const root = parsed.value;
  let parent = root;
  for (const [index, key] of keys.entries()) {
    const property = parent?.children?.findLast((each) => partsOf(each).key.value === key); // as readers take the last one
    if (parent === undefined || property === undefined || index === keys.length - 1) {
      return success({ root, parent, property, missing: keys.slice(index) });
    }
    const { value } = partsOf(property);
    if (value.type !== "object") return faultAt(text, value.offset, `${JSON.stringify(key)} is not an object`);
    parent = value;
  }
  throw new TypeError("no keys");
}

function partsOf({ children = [] }: Node): { readonly key: Node; readonly value: Node } {
  const [key, value] = children;
  if (key === undefined || value === undefined) throw new TypeError("a property without a value"); // parse errors are refused
  return { key, value };
}

function valueOf(root: Node | undefined): Record<string, unknown> {
  return root === undefined ? {} : getNodeValue(root);
}

function withEntry(value: unknown, [key = "", ...inner]: readonly string[], entry: Entry | undefined): object {
  const { [key]: old, ...others } = { ...value as Record<string, unknown> };
  if (inner.length > 0) return { ...value as object, [key]: withEntry(old, inner, entry) };
  return entry === undefined ? others : { ...value as object, [key]: entry };
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

function lineStart(text: string, offset: number): number {
  return Math.max(text.lastIndexOf("\n", offset - 1), text.lastIndexOf("\r", offset - 1)) + 1;
}

/** The blanks from the line's beginning to what is at `offset`; `null` when something else is between. */
function indentBefore(text: string, offset: number): string | null {
  const before = text.slice(lineStart(text, offset), offset);
  return lineStart(text, offset) > 0 && /^[ \t]*$/.test(before) ? before : null;
}

/** How a property of this object is written: on a separate line with this indentation, or (`null`) beside the others. */
function styleOf(text: string, root: Node, parent: Node) {
  const first = parent.children?.[0];
  const unit = (root.children?.[0] === undefined ? null : indentBefore(text, root.children[0].offset)) || "  ";
  const own = /^[ \t]*/.exec(text.slice(lineStart(text, parent.offset), parent.offset))?.[0] ?? "";
  return { unit, own, indent: first === undefined ? own + unit : indentBefore(text, first.offset) };
}

function written(value: object, unit: string, indent: string | null, lineEnd: string): string {
  return indent === null
    ? JSON.stringify(value)
    : JSON.stringify(value, null, unit).replaceAll("\n", `${lineEnd}${indent}`);
}

function replacement(text: string, root: Node, parent: Node, property: Node, value: object): Edit {
  const { value: old } = partsOf(property);
  const { unit, indent } = styleOf(text, root, parent);
  return { start: old.offset, end: endOf(old), text: written(value, unit, indent, lineEndOf(text)) };
}

/** Where the comma behind a property begins; `null` when there is none. */
function commaAfter(text: string, property: Node): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(endOf(property));
  scanner.scan();
  return text[scanner.getTokenOffset()] === "," ? scanner.getTokenOffset() : null;
}

/** Comments that follow on the same line stay with what they follow. */
function endWithComments(text: string, offset: number): number {
  const comments = /(?:[ \t]*\/\*[^\r\n]*?\*\/)*(?:[ \t]*\/\/[^\r\n]*)?/y;
  comments.lastIndex = offset;
  return offset + (comments.exec(text)?.[0].length ?? 0);
}

function insertion(text: string, root: Node, parent: Node, name: string, value: object): Edit[] {
  const { unit, own, indent } = styleOf(text, root, parent);
  const lineEnd = lineEndOf(text);
  const property = `${JSON.stringify(name)}: ${written(value, unit, indent, lineEnd)}`;
  const last = parent.children?.at(-1);
  if (last === undefined) {
    const inside = text.slice(parent.offset + 1, endOf(parent) - 1);
    const [blanks = ""] = /(?:(?:\r\n|\n|\r)\s*|[ \t]*)$/.exec(inside) ?? [];
    const start = parent.offset + 1 + inside.length - blanks.length;
    const close = /[\r\n]/.test(blanks) ? "" : lineEnd + own;
    return [{ start, end: start, text: `${lineEnd}${own}${unit}${property}${close}` }];
  }
  const comma = commaAfter(text, last);
  const after = comma === null ? endOf(last) : comma + 1;
  if (indent === null) {
    const whole = comma === null ? `, ${property}` : ` ${property},`;
    return [{ start: after, end: after, text: whole }];
  }
  const start = endWithComments(text, after);
  const line = `${lineEnd}${indent}${property}`;
  if (comma !== null) return [{ start, end: start, text: `${line},` }];
  return start === after
    ? [{ start, end: start, text: `,${line}` }]
    : [{ start: after, end: after, text: "," }, { start, end: start, text: line }];
}

function removal(text: string, parent: Node, property: Node): Edit[] {
  const siblings = parent.children ?? [];
  const before = siblings[siblings.indexOf(property) - 1];
  const comma = commaAfter(text, property);
  const between = before === undefined || comma !== null ? null : commaAfter(text, before);
  const line = lineStart(text, property.offset);
  const isFirst = indentBefore(text, property.offset) !== null;
  const start = !isFirst
    ? property.offset - (/[ \t]{0,100}$/.exec(text.slice(line, property.offset).slice(-100))?.[0].length ?? 0)
    : text.slice(line - 2, line) === "\r\n"
    ? line - 2
    : line - 1;
  const own = { start, end: comma === null ? endOf(property) : comma + 1, text: "" };
  return between === null ? [own] : [own, { start: between, end: between + 1, text: "" }];
}

/** The table of these keys in a TOML file, which is appended. */
export function tomlEntry(keys: readonly string[]): EntryEditor {
  const find: EntryEditor["find"] = (text) => {
    const found = findTable(text, keys);
    if (!found.ok || found.value === null) return found.ok ? success(null) : found;
    const table = text.slice(found.value.start, found.value.end).replace(/\r?\n$/, "");
    return success({ entry: table, text: table });
  };
  return {
    find,
    set(text, entry) {
      const found = findTable(text, keys);
      if (!found.ok) return found;
      const lineEnd = lineEndOf(text);
      const table = typeof entry === "string" ? entry : tomlTable(keys, { ...entry }).replaceAll("\n", lineEnd);
      const { start, end } = found.value ?? { start: text.length, end: text.length };
      if (found.value !== null) {
        return success(
          `${text.slice(0, start)}${table}${/\n$/.test(text.slice(start, end)) ? lineEnd : ""}${text.slice(end)}`,
        );
      }
      const glue = text === "" || /\n\r?\n$/.test(text) ? "" : text.endsWith("\n") ? lineEnd : lineEnd + lineEnd;
      return success(`${text}${glue}${table}${lineEnd}`);
    },
    remove(text) {
      const found = findTable(text, keys);
      if (!found.ok || found.value === null) return found.ok ? success(text) : found;
      const before = text.slice(0, found.value.start).replace(/(?<=\n)\r?\n$/, "");
      return success(before + text.slice(found.value.end));
    },
  };
}

const key = String.raw`(?:[A-Za-z0-9_-]+|"(?:[^"\\\r\n]|\\.)*"|'[^'\r\n]*')`;
const dottedKey = String.raw`(${key}(?:[ \t]*\.[ \t]*${key})*)`;
const header = new RegExp(String.raw`[ \t]*(\[\[?)[ \t]*${dottedKey}[ \t]*(\]\]?)[ \t]*(?:#[^\r\n]*)?(?:\r?\n|$)`, "y");
const assignment = new RegExp(String.raw`[ \t]*${dottedKey}[ \t]*=`, "y");
const blankLine = /[ \t]*(?:#[^\r\n]*)?(?:\r?\n|$)/y;
// strings of all four kinds, brackets, comments, line ends, and what else a value is made of
const valuePart =
  /"""(?:\\[^]|(?!""")[^\\])*"{3,5}|'''(?:(?!''')[^])*'{3,5}|"(?:[^"\\\r\n]|\\.)*"|'[^'\r\n]*'|[[\]{}]|#[^\r\n]*|\r?\n|[^"'[\]{}#\r\n]+/y;

function takeAt(pattern: RegExp, text: string, offset: number): RegExpExecArray | null {
  pattern.lastIndex = offset;
  return pattern.exec(text);
}

function partsOfKey(dotted: string): string[] {
  return Array.from(
    dotted.matchAll(new RegExp(key, "g")),
    ([part]) => part.startsWith('"') ? unquoted(part) : part.startsWith("'") ? part.slice(1, -1) : part,
  );
}

function unquoted(part: string): string {
  try {
    return JSON.parse(part);
  } catch {
    return part; // an escape that JSON lacks: no key of ours
  }
}

/** From the table's header to the end of its last line, with tables below it; `null` when there is none. TOML 1.0. */
function findTable(text: string, keys: readonly string[]): Result<{ start: number; end: number } | null, string> {
  const isBelow = (path: readonly string[]): boolean => keys.every((each, index) => path[index] === each);
  const isAbove = (path: readonly string[]): boolean => path.every((each, index) => keys[index] === each);
  const elsewhere = "this entry has a form that connect does not change";
  let table: string[] = [];
  let found = null as { start: number; end: number } | null;
  for (let offset = 0; offset < text.length;) {
    const blank = takeAt(blankLine, text, offset);
    if (blank !== null) {
      offset += blank[0].length;
      continue;
    }
    const named = takeAt(header, text, offset);
    if (named !== null) {
      const [line, open = "", dotted = "", close = ""] = named;
      if (open.length !== close.length) return faultAt(text, offset, "the brackets of a table do not match");
      table = partsOfKey(dotted);
      const isList = open === "[[";
      if (
        (isList && isAbove(table)) || (isBelow(table) && found !== null && text.slice(found.end, offset).trim() !== "")
      ) {
        return faultAt(text, offset, elsewhere);
      }
      if (isBelow(table)) found = { start: found?.start ?? offset, end: offset + line.length };
      offset += line.length;
      continue;
    }
    const assigned = takeAt(assignment, text, offset);
    if (assigned === null) return faultAt(text, offset, "the file is not valid TOML");
    const path = [...table, ...partsOfKey(assigned[1] ?? "")];
    if (!isBelow(table) && (isBelow(path) || isAbove(path))) return faultAt(text, offset, elsewhere);
    const end = endOfValue(text, offset + assigned[0].length);
    if (end === null) return faultAt(text, offset, "the file is not valid TOML: a value does not end");
    if (isBelow(table) && found !== null) found.end = end;
    offset = end;
  }
  return success(found);
}

/** Where the line of a value ends; `null` when a string or a bracket stays open, or there is no value. */
function endOfValue(text: string, start: number): number | null {
  const open: string[] = [];
  let isEmpty = true;
  for (let offset = start; offset < text.length;) {
    const [part] = takeAt(valuePart, text, offset) ?? [];
    if (part === undefined) return null;
    offset += part.length;
    if (part === "[" || part === "{") open.push(part);
    else if ((part === "]" || part === "}") && open.pop() !== (part === "]" ? "[" : "{")) return null;
    else if (part.endsWith("\n") && part.trim() === "" && open.length === 0) return isEmpty ? null : offset;
    if (!part.startsWith("#") && part.trim() !== "") isEmpty = false;
  }
  return open.length > 0 || isEmpty ? null : text.length;
}
