/** Turns a tree of running text into Markdown: each format says what its elements are, and this writes them. */
import type { DocumentBudget } from "./document.ts";
import type { Element } from "./markup.ts";

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

/** The Markdown of an element's children. */
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
