/** Rich Text Format (RTF 1.9.1), by way of HTML that shows the same. */
import { Buffer } from "node:buffer";
import { type DocumentReader, DocumentRefusal, titleOf } from "./document.ts";
import { wordsOf } from "./markdown.ts";
import { renderHtml } from "./html.ts";
import { decoderOf } from "./markup.ts";

/** Groups within each other. */
const maxGroups = 400;
/** Of who changed something. */
const maxNameCharacters = 100;
/** A word with its number, a byte in two digits, a symbol, a brace, or text. */
const token = /\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^])|([{}])|[\r\n\0]+|[^\\{}\r\n\0]+/gi;
const symbols = {
  ...{ tab: "\t", emdash: "—", endash: "–", lquote: "‘", rquote: "’", ldblquote: "“", rdblquote: "”", bullet: "•" },
  ...{ "~": " ", "_": "-", "{": "{", "}": "}", "\\": "\\" },
};
/** By a font's `fcharset`, and by `ansicpg`. */
const encodings: Readonly<Record<number, string>> = {
  ...{ 128: "shift_jis", 129: "euc-kr", 134: "gbk", 136: "big5", 161: "windows-1253", 162: "windows-1254" },
  ...{ 177: "windows-1255", 178: "windows-1256", 186: "windows-1257", 204: "windows-1251", 238: "windows-1250" },
  ...{ 932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5", 10000: "macintosh" },
};
/** Groups whose text is not shown where it is. */
const places = {
  ...{ title: "title", fldinst: "field", atnauthor: "author", revtbl: "people", fonttbl: "fonts", listtext: "label" },
  ...{ pntext: "label", nonshppict: "skip", colortbl: "skip", stylesheet: "skip", info: "skip", objdata: "skip" },
  ...Object.fromEntries(["", "l", "r", "f"].flatMap((at) => [[`header${at}`, "skip"], [`footer${at}`, "skip"]])),
  ...{ shptxt: "text", shppict: "text" }, // within what is skipped
};

export const readRichText: DocumentReader = (bytes, budget) => {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
  if (!source.startsWith("{\\rtf")) throw new DocumentRefusal("it is no RTF by its content");
  let [body, table, row, cell, line] = ["", "", "", "", ""];
  let [encoding, pending, isOptional] = ["windows-1252", "", false];
  let [font, left] = [0, 0]; // `left`: characters that stand for the one of Unicode before them
  const fonts = new Map<number, string>();
  const decoders = new Map<string, TextDecoder>();
  const said = new Map<string, string>();
  const marks: readonly string[] = [];
  /** What a group changes is its own; `end` follows its text. */
  let group = {
    ...{ place: "text", marks, change: "", by: "", encoding: "", end: "", substitutes: 1, level: 9, isCell: false },
  };
  const around = [group];

  const take = (place: string): string => {
    const text = said.get(place) ?? "";
    said.delete(place);
    return escaped(text.trim());
  };
  const write = (text: string): void => {
    const { place, marks, change, by, level } = group;
    if (text === "" || place === "skip" || marks.includes("hidden")) return;
    budget.take(text.length + by.length);
    if (place !== "text" && place !== "note") return void said.set(place, (said.get(place) ?? "") + text);
    const own = marks.filter((tag) => tag !== "b" || level === 9);
    const shown = `${own.map((tag) => `<${tag}>`).join("")}${escaped(text)}${own.map((tag) => `</${tag}>`).join("")}`;
    line += change === "" ? shown : `[${change} by ${by || "someone"}: ${shown}]`;
  };
  const endParagraph = (): void => {
    if (group.place === "note") line += " ";
    if (group.place !== "text") return;
    const label = take("label");
    const tag = group.level < 6 ? `h${group.level + 1}` : "p";
    const mark = label === "" ? "" : /\p{N}|\p{L}./u.test(label) ? `${label} ` : "- ";
    const paragraph = `<${tag}>${mark}${line}</${tag}>`;
    line = "";
    if (group.isCell) cell += paragraph;
    else [body, table, cell] = [`${body}${table === "" ? "" : `<table>${table}</table>`}${cell}${paragraph}`, "", ""];
  };
  const endCell = () => {
    group.isCell = true;
    endParagraph();
    [row, cell] = [`${row}<td>${cell}</td>`, ""];
  };
  const endRow = () => [table, row] = [`${table}<tr>${row}</tr>`, ""];
  const enclose = (before: string, end: string, place = group.place): void => {
    if (group.place !== "text" && group.place !== "note") return;
    line += before;
    Object.assign(group, { end, place });
  };
  const link = (): void => {
    const [, href] = /HYPERLINK\s+&#34;(.*?)&#34;/i.exec(take("field")) ?? [];
    if (href !== undefined) enclose(`<a href="${href}">`, "</a>");
  };
  const comment = (): void => {
    const author = take("author");
    enclose(`[comment${author === "" ? "" : ` by ${author}`}: `, "]", "note");
  };
  const mark = (tag: string) => (on: number) =>
    group.marks = [...group.marks.filter((one) => one !== tag), ...on === 0 ? [] : [tag]];
  const changed = (how: string) => (on: number) => group.change = on === 0 ? "" : how;
  const changedBy = (at: number) =>
    group.by = escaped(said.get("people")?.split(";")[at]?.trim().slice(0, maxNameCharacters) ?? "");
  const acts = new Map<string, (number: number) => unknown>(Object.entries({
    ...Object.fromEntries(Object.entries(symbols).map(([word, text]) => [word, () => write(text)])),
    ...Object.fromEntries(Object.entries(places).map(([word, place]) => [word, () => group.place = place])),
    ...{ b: mark("b"), strike: mark("s"), super: mark("sup"), v: mark("hidden"), nosupersub: () => mark("sup")(0) },
    ...{ par: endParagraph, sect: endParagraph, nestcell: endParagraph, "\n": endParagraph, "\r": endParagraph },
    ...{ cell: endCell, row: endRow, line: () => line += "<br>", "*": () => isOptional = true },
    ...{ fldrslt: link, annotation: comment, footnote: () => enclose("[footnote: ", "]", "note") },
    ...{ deleted: changed("deleted"), revised: changed("inserted"), revauth: changedBy, revauthdel: changedBy },
    pict() {
      write("[image]");
      group.place = "skip";
    },
    pard: () => Object.assign(group, { level: 9, isCell: false }),
    plain: () => Object.assign(group, { marks: [], change: "" }),
    intbl: () => group.isCell = true,
    outlinelevel: (level: number) => group.level = level,
    ansicpg: (page: number) => encoding = encodings[page] ?? `windows-${page}`,
    fcharset: (charset: number) => fonts.set(font, encodings[charset] ?? ""),
    f: (number: number) => [font, group.encoding] = [number, fonts.get(number) ?? ""],
    uc: (count: number) => group.substitutes = Math.max(0, count),
    u(code: number) {
      write(String.fromCharCode(code & 0xffff));
      left = group.substitutes;
    },
    bin: (length: number) => token.lastIndex += Math.max(0, length),
  }));
  const flush = (): void => {
    if (pending === "") return;
    const label = group.encoding || encoding;
    write(decoders.getOrInsertComputed(label, decoderOf).decode(Buffer.from(pending, "latin1")));
    pending = "";
  };
  token.lastIndex = 0;
  for (let found = token.exec(source); found !== null; found = token.exec(source)) {
    const [text, word, number, digits, symbol, brace] = found;
    const name = word ?? symbol;
    if (name === undefined && brace === undefined) {
      const plain = digits === undefined ? text.replace(/[\r\n\0]+/, "") : String.fromCharCode(parseInt(digits, 16));
      if (group.place !== "skip") pending += plain.slice(left);
      left = Math.max(0, left - plain.length);
      continue;
    }
    flush();
    if (name !== undefined) {
      const act = acts.get(name) ?? (isOptional ? () => group.place = "skip" : undefined);
      isOptional = false;
      act?.(Number(number ?? 1));
    } else if (brace === "{") {
      if (around.length > maxGroups) throw new DocumentRefusal(`it nests more than ${maxGroups} groups`);
      around.push(group);
      group = { ...group, end: "" };
    } else {
      line = (group.end === "]" ? line.trimEnd() : line) + group.end;
      group = around.pop() ?? group;
      left = 0;
    }
  }
  flush();
  group = { ...group, place: "text", isCell: false };
  if (row !== "") endRow();
  endParagraph();
  const { text } = renderHtml(body, budget);
  const parts = [{ name: "text", text }];
  return { kind: "rtf", title: titleOf(said.get("title") ?? ""), summary: wordsOf(text), remarks: [], parts };
};

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
