/** Writes what documents hold as Markdown: running text, tables, sheets, charts, formulas and the numbers of lists. */
import { columnName, type DocumentBudget, type DocumentText, nameWords } from "./document.ts";
import { childOf, type Element, elementsOf } from "./markup.ts";

/** What an element is, a role without more by its word alone. `through` stands for its children. */
type Role = "skip" | "through" | "table" | "row" | "pre" | "block" | "cell" | FullRole;

type FullRole =
  | { readonly as: "skip" | "through" | "table" | "pre" }
  /** `before`: columns that come before its first cell. */
  | { readonly as: "row"; readonly before?: number }
  /** A paragraph; `mark` begins it ("## ", "- "), and what follows inside it is indented by `indent`. */
  | { readonly as: "block"; readonly mark?: string | undefined; readonly indent?: string }
  | { readonly as: "inline"; readonly before: string; readonly after: string }
  | { readonly as: "text"; readonly text: string }
  | { readonly as: "cell"; readonly columns?: number; readonly rows?: number };

export const inline = (before: string, after = before): Role => ({ as: "inline", before, after });
export const say = (text: string) => ({ as: "text", text }) as const;
export const heading = (level: number, label = ""): Role => ({
  as: "block",
  mark: `${"#".repeat(Math.min(Math.max(1, Math.trunc(level) || 1), 6))} ${label}`,
});
export const image = (words = "") => say(words.trim() === "" ? "[image]" : `[image: ${oneLine(words)}]`);

/** The elements of a format by their names. */
export interface Dialect {
  readonly roles: Readonly<Record<string, Role | ((element: Element) => Role)>>;
  /** Of elements without a role. */
  readonly other: Role | ((element: Element) => Role);
  /** Whether text between the elements counts, with its white space made one blank. */
  readonly hasLooseText: boolean;
}

/** Columns or rows that one cell may take: what is more is empty either way. */
const maxSpan = 50;

/** The Markdown of an element's children: each format says what its elements are, and this writes them. */
export function renderFlow(root: Element, dialect: Dialect, budget: DocumentBudget): string {
  const blocks: string[] = [];
  let pieces: string[] = [];
  let mark: string | null = null;
  let indent = "";
  let joint = { before: "", end: -1 };
  let wasItem = false;
  const add = (text: string) => {
    budget.take(text.length);
    const isItem = mark !== null && !/[#>] /.test(mark);
    blocks.push(blocks.length === 0 ? "" : isItem && wasItem ? "\n" : "\n\n", text);
    wasItem = isItem;
    mark = null;
  };
  const flush = () => {
    const text = pieces.join("").replace(dialect.hasLooseText ? / ?\n ?/g : /\r\n?/g, "\n").trim();
    pieces = [];
    joint = { before: "", end: -1 };
    if (text !== "") add((mark ?? indent) + text.replaceAll("\n", `\n${indent}`));
  };
  const walk = (node: Element | string): void => {
    if (typeof node === "string") {
      const text = node.replace(/[ \t\r\n]+/g, " ");
      const isAfterSpace = /^$|\s$/.test(pieces.at(-1)?.slice(-1) ?? "");
      if (dialect.hasLooseText) pieces.push(isAfterSpace ? text.trimStart() : text);
      return;
    }
    const role = roleOf(node, dialect);
    if (role.as === "text") {
      budget.take(role.text.length);
      pieces.push(role.text);
    } else if (role.as === "inline") {
      // Neighbours of one kind are one: Word cuts a bold word into several runs.
      if (joint.before === role.before && joint.end === pieces.length) pieces.pop();
      else pieces.push(role.before);
      const start = pieces.length;
      node.children.forEach(walk);
      if (pieces.length === start && pieces.at(-1) === role.before) pieces.pop();
      else joint = { before: role.before, end: pieces.push(role.after) };
    } else if (role.as === "block") {
      flush();
      const outer = { mark, indent };
      if (role.mark !== undefined) mark = (mark ?? indent) + role.mark;
      indent += role.indent ?? "";
      node.children.forEach(walk);
      flush();
      mark = mark === null ? null : outer.mark;
      indent = outer.indent;
    } else if (role.as === "pre" || role.as === "table") {
      flush();
      const text = role.as === "pre"
        ? `\`\`\`\n${shownIn(node, dialect).replace(/^\n|\n+$/g, "")}\n\`\`\``
        : toTable(rowsOf(node, dialect, budget));
      if (text !== "") add(text);
    } else if (role.as !== "skip") node.children.forEach(walk);
  };
  root.children.forEach(walk);
  flush();
  return blocks.join("");
}

export function roleOf(element: Element, { roles, other }: Pick<Dialect, "roles" | "other">): FullRole {
  const found = (Object.hasOwn(roles, element.name) ? roles[element.name] : undefined) ?? other;
  const role = typeof found === "function" ? found(element) : found;
  return typeof role === "string" ? { as: role } : role;
}

/** The text of an element as it is written, without what is left out of it. */
function shownIn({ children }: Element, dialect: Dialect): string {
  return children.map((child) => {
    if (typeof child === "string") return child;
    const role = roleOf(child, dialect);
    return role.as === "skip" ? "" : role.as === "text" ? role.text : shownIn(child, dialect);
  }).join("");
}

function rowsOf(root: Element, dialect: Dialect, budget: DocumentBudget): string[][] {
  const rows: string[][] = [];
  const below: number[] = []; // rows that the cell above still takes, a column
  const visit = (element: Element | string): void => {
    if (typeof element === "string") return;
    const role = roleOf(element, dialect);
    if (role.as === "row") rows.push(Array.from({ length: Math.min(role.before ?? 0, maxSpan) }, () => ""));
    const cells = rows.at(-1);
    if (role.as !== "cell" || cells === undefined) {
      if (role.as !== "skip" && role.as !== "table") element.children.forEach(visit);
      return;
    }
    const passMerged = () => {
      for (; (below[cells.length] ?? 0) > 0; cells.push("")) below[cells.length] = (below[cells.length] ?? 0) - 1;
    };
    const spanOf = (span = 1) => Math.min(Math.max(1, span || 1), maxSpan);
    passMerged();
    cells.push(renderFlow(element, dialect, budget));
    for (let column = 0; column < spanOf(role.columns); column++) {
      if (column > 0) cells.push("");
      below[cells.length - 1] = spanOf(role.rows) - 1;
    }
    passMerged();
  };
  root.children.forEach(visit);
  return rows;
}

/** A Markdown table. What would end a cell or a row is written so that it does not. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const filled = rows.filter((cells) => cells.some((text) => text !== ""));
  const columns = filled.reduce((most, cells) => Math.max(most, cells.length), 0);
  const lines = filled.map((cells) => `| ${cells.map(toCell).join(" | ")} |`);
  return columns === 0 ? "" : [lines[0], `|${" --- |".repeat(columns)}`, ...lines.slice(1)].join("\n");
}

function toCell(text: string): string {
  return text.replaceAll("|", "\\|").split("\n").map((line) => line.trim()).filter((line) => line !== "").join("<br>");
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** What there is of a slide, each its own paragraph. */
export function slideText(isHidden: boolean, text: string, notes: string, comments: readonly string[] = []): string {
  const texts = [isHidden ? "(hidden slide)" : "", text, notes === "" ? "" : `Notes: ${notes}`, ...comments];
  return texts.filter((one) => one !== "").join("\n\n");
}

export function countOf(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

export function wordsOf(text: string): string {
  return countOf(text.match(/\S+/g)?.length ?? 0, "word");
}

/** Merged ranges that are named. */
const maxMerged = 100;

export interface SheetRow {
  readonly number: number;
  readonly isHidden: boolean;
  /** By column, from 1; only those with text. */
  readonly cells: Map<number, string>;
}

export interface Sheet {
  readonly name: string;
  readonly isHidden: boolean;
  readonly rows: readonly SheetRow[];
  readonly hiddenColumns: ReadonlySet<number>;
  readonly merged?: readonly string[];
  /** What lies over the cells. */
  readonly drawn?: readonly string[];
}

/**
 * A workbook's sheets as tables with the coordinates by which cells are asked for: rows and columns without text are left
 * out, their numbers and letters tell.
 */
export function toSheets(sheets: readonly Sheet[], budget: DocumentBudget): Pick<DocumentText, "summary" | "parts"> {
  const told: string[] = [];
  const parts = sheets.map(({ name: written, isHidden, rows, hiddenColumns, merged = [], drawn = [] }) => {
    const name = oneLine(written); // it is a line of the text, and stands before matches
    const filled = rows.filter(({ cells }) => cells.size > 0);
    const columns = [...new Set(filled.flatMap(({ cells }) => [...cells.keys()]))].sort((one, other) => one - other);
    const size = `${countOf(filled.length, "row")}, ${countOf(columns.length, "column")}`;
    told.push(`${nameWords(name)} (${isHidden ? "hidden, " : ""}${size})`);
    budget.take(filled.length * columns.length * 3);
    const hidden = (is: boolean) => is ? " (hidden)" : "";
    const table = toTable([
      ["", ...columns.map((column) => `${columnName(column)}${hidden(hiddenColumns.has(column))}`)],
      ...filled.map((row) => [
        `${row.number}${hidden(row.isHidden)}`,
        ...columns.map((column) => row.cells.get(column) ?? ""),
      ]),
    ]);
    const tail = merged.length === 0 ? "" : `\n\nMerged cells: ${oneLine(merged.slice(0, maxMerged).join(", "))}`;
    const over = drawn.map((each) => `\n\n${oneLine(each)}`).join("");
    return { name, text: `${filled.length === 0 ? "(empty)" : table}${tail}${over}` };
  });
  return { summary: `${countOf(sheets.length, "sheet")}: ${told.join(", ")}`, parts };
}

/** A value with the formula that it is counted by. */
export function withFormula(value: string, formula: string): string {
  return formula === "" ? value : `=${formula} → ${value === "" ? "(no value kept)" : value}`;
}

/** A number as it was typed, without the noise of its 17th digit. */
export function toNumberText(number: number): string {
  return String(Number.isInteger(number) ? number : Number(number.toPrecision(15)));
}

/** A chart by its title and its series, each with its name and its points. */
export function seriesWords(
  title: string,
  series: readonly (readonly [name: string, points: readonly (readonly [string | undefined, string])[]])[],
): string {
  const lines = series.slice(0, 50).map(([name, points]) => {
    const told = points.slice(0, 50).map(([label, value]) => label === undefined ? value : `${label} ${value}`);
    return `${name}: ${told.join(", ")}${points.length > 50 ? `, ${points.length - 50} more` : ""}`;
  });
  if (series.length > 50) lines.push(`${series.length - 50} more series`);
  return `[chart${title === "" ? "" : ` ${title}`}${lines.length === 0 ? "" : `: ${lines.join("; ")}`}]`;
}

const nothing: Element = { name: "", attributes: {}, children: [] };

/**
 * A formula of Office (ECMA-376, part 1, §22.1) or of MathML on one line, such as `(a+b)/(c_1)=√(x^2+1)`: what is a
 * fraction, root or index stays one.
 */
export function formulaText(element: Element): string {
  const { name } = element;
  const inner = (): string =>
    element.children.map((child) =>
      typeof child === "string" ? name === "t" ? child : child.trim() : formulaText(child)
    ).join("");
  const child = (at: number): string => formulaText(elementsOf(element)[at] ?? nothing);
  const named = (kind: string): string => elementsOf(element, kind).map(formulaText).join("|");
  const property = (kind: string): string | undefined => childOf(element, `${name}Pr`, kind)?.attributes["val"];
  if (name === "num") return `${grouped(inner())}/`;
  if (name === "den") return grouped(inner());
  if (name === "sub" || name === "lim") return index("_", inner());
  if (name === "sup") return index("^", inner());
  if (name === "rad" || name === "msqrt") return `√(${inner()})`;
  if (name === "deg") return inner().replace(/.$/s, "$&: ");
  if (name === "nary") return ` ${property("chr") ?? "∫"}${named("sub")}${named("sup")} ${named("e")} `;
  if (name === "d") return `${property("begChr") ?? "("}${named("e")}${property("endChr") ?? ")"}`;
  if (name === "mfrac") return `${grouped(child(0))}/${grouped(child(1))}`;
  if (name === "msup" || name === "mover") return child(0) + index("^", child(1));
  if (name === "msub" || name === "munder") return child(0) + index("_", child(1));
  if (name === "msubsup" || name === "munderover") {
    return `${child(0)}${index("_", child(1))}${index("^", child(2))} `;
  }
  if (name === "mroot") return `√(${child(1)}: ${child(0)})`;
  return /^annotation(-xml)?$|Pr$/.test(name) ? "" : inner();
}

function index(mark: string, text: string): string {
  return text === "" ? "" : mark + grouped(text);
}

function grouped(text: string): string {
  return /^[\p{L}\p{N}.]*$/u.test(text) ? text : `(${text})`;
}

const romanValues = {
  ...{ m: 1000, cm: 900, d: 500, cd: 400, c: 100, xc: 90, l: 50 },
  ...{ xl: 40, x: 10, ix: 9, v: 5, iv: 4, i: 1 },
};
const romans = Object.entries(romanValues);
const maxRoman = 4_000;

/** A number as its list writes it, by how the list writes 1: "1", "a", "A", "i" or "I". */
export function formatNumber(number: number, one = "1"): string {
  const low = one.toLowerCase();
  let left = number;
  const text = low === "a" && number > 0
    ? String.fromCharCode(97 + (number - 1) % 26).repeat(Math.min(Math.ceil(number / 26), 10))
    : low === "i" && number < maxRoman
    ? romans.map(([letters, value]) => {
      const times = Math.floor(left / value);
      left -= times * value;
      return letters.repeat(times);
    }).join("")
    : String(number);
  return one === low ? text : text.toUpperCase();
}
