/** Word documents (ECMA-376, part 1, §17): running text, with comments, notes and tracked changes where they stand. */
import { type DocumentBudget, type DocumentReader, nameWords } from "./document.ts";
import { readHtml, readMail } from "./html.ts";
import { countOf, formatNumber, heading, image, inline, oneLine, renderFlow, say, wordsOf } from "./markdown.ts";
import type { Dialect } from "./markdown.ts";
import { allOf, childOf, type Element, elementsOf, textOf } from "./markup.ts";
import { imageOf, officeDialect, type OfficePackage, openOffice } from "./office.ts";
import { readRichText } from "./rich_text.ts";

export const readWord: DocumentReader = async (bytes, budget) => {
  const office = openOffice(bytes, budget);
  const { main, part, related, relations, title, remarks } = office;
  const changes = new Map<string, number>();
  const render = (element: Element, partName: string): string =>
    renderFlow(element, wordDialect(office, partName, shared), budget);
  const shared: Shared = {
    styles: readStyles(part(related(main, "/styles"))),
    numberOf: createNumbering(part(related(main, "/numbering"))),
    changes,
    notes: readNotes(office, render),
    chunkOf: await readChunks(office, budget),
  };
  const body = part(main);
  const text = render(body, main);
  const margins = [...relations(main).values()].filter(({ type }) => /\/(header|footer)$/.test(type));
  const margin = [...new Set(margins.map(({ target }) => render(part(target), target)))].filter((one) =>
    !/^\d*$/.test(one)
  );
  if (changes.size > 0) {
    const told = [...changes].slice(0, 20).map(([change, count]) => `${count} ${change}`).join(", ");
    remarks.push(`has tracked changes, marked in the text: ${told}`);
  }
  const parts = [{ name: "text", text }];
  if (margin.length > 0) parts.push({ name: "headers", text: margin.join("\n\n") });
  const summary = `${wordsOf(text)}, ${countOf(allOf(body, "tbl").length, "table")}`;
  return { kind: "docx", title, summary, remarks, parts };
};

interface Shared {
  readonly styles: ReturnType<typeof readStyles>;
  readonly numberOf: ReturnType<typeof createNumbering>;
  /** How often each person changed something. */
  readonly changes: Map<string, number>;
  readonly notes: Map<string, () => string>;
  /** The text of a part that is another document. */
  readonly chunkOf: Awaited<ReturnType<typeof readChunks>>;
}

const plainText: DocumentReader = (bytes) => {
  return { kind: "txt", summary: "", remarks: [], parts: [{ name: "text", text: new TextDecoder().decode(bytes) }] };
};
/** By how they begin: their names and types say little. */
const chunkReaders: readonly (readonly [RegExp, DocumentReader])[] = [
  [/^PK/, readWord],
  [/^\{\\rtf/, readRichText],
  [/^(?:[\w-]+:.*\r?\n(?:[ \t].*\r?\n)*)*mime-version:/i, readMail],
  [/<(?:!doctype html|html|head|body|div|p|h\d|span|table|ul|ol)\b/i, readHtml],
  [/^(?!<)[\P{Cc}\t\r\n]+$/u, plainText],
];
const chunkHeadBytes = 1_024;

/** Documents of other kinds that stand in the text (§17.17.2). Those that cannot be read are said to be left out. */
async function readChunks({ main, relations, read, remarks }: OfficePackage, budget: DocumentBudget) {
  const chunks = new Map<string, string>();
  const found = [...relations(main).values()].filter(({ type, isExternal }) =>
    !isExternal && type.endsWith("/aFChunk")
  );
  for (const target of new Set(found.map((relation) => relation.target))) {
    const bytes = read(target);
    const head = new TextDecoder("latin1").decode(bytes.subarray(0, chunkHeadBytes));
    const reader = chunkReaders.find(([begins]) => begins.test(head))?.[1];
    const document = await Promise.try(() => reader?.(bytes, budget, 1)).catch(() => undefined); // as `readDocument`
    const text = document?.parts.map((one) => one.text.trim()).join("\n\n") ?? "";
    remarks.push(...document?.remarks ?? []);
    if (text !== "") chunks.set(target, text);
    else remarks.push(`holds another document in its text, which was not read: ${nameWords(target)}`);
  }
  return (target = "") => `\n\n${chunks.get(target) ?? "[another document, not read]"}`;
}

/** The words of comments and notes, by what refers to them. */
function readNotes({ main, part, related }: OfficePackage, render: (element: Element, partName: string) => string) {
  const notes = new Map<string, () => string>();
  for (const kind of ["comment", "footnote", "endnote"]) {
    const name = related(main, `/${kind}s`) ?? "";
    for (const note of allOf(part(name), kind)) {
      const { id, author, date } = note.attributes;
      const by = `${author === undefined ? "" : ` by ${author}`}${date === undefined ? "" : `, ${date.slice(0, 10)}`}`;
      notes.set(`${kind}Reference ${id}`, () => `[${kind}${by}: ${oneLine(render(note, name))}]`);
    }
  }
  return notes;
}

function wordDialect(office: OfficePackage, partName: string, all: Shared): Dialect {
  const { styles, numberOf, changes, notes, chunkOf } = all;
  const { relations } = office;
  const takeNote = ({ name, attributes }: Element) => {
    const key = `${name} ${attributes["id"]}`;
    const note = notes.get(key);
    notes.delete(key); // once each: a note may refer to itself
    return say(note?.() ?? "");
  };
  const change = (done: string) => ({ attributes }: Element) => {
    const author = attributes["author"] ?? "someone";
    const by = `${done} by ${nameWords(author)}`;
    changes.set(by, (changes.get(by) ?? 0) + 1);
    return inline(`[${done} by ${author}: `, "]");
  };
  const pictureOrText = (element: Element) => {
    if (allOf(element, "pic").length === 0) return "through";
    const picture = imageOf(childOf(element, "docPr"));
    return allOf(element, "txbxContent").length === 0 ? picture : inline(picture.text, ""); // a group: callouts over it
  };
  let isHeading = false;
  const shared = officeDialect(office, partName);
  return {
    ...shared,
    roles: {
      ...shared.roles,
      p: (element) => {
        const properties = childOf(element, "pPr");
        const style = styles(valueOf(properties, "pStyle"));
        const level = Number(valueOf(properties, "outlineLvl") ?? style.outline ?? 9);
        const numbering = childOf(properties, "numPr") ?? style.numbering;
        const item = numbering === undefined ? null : numberOf(numbering, style.level);
        isHeading = level < 9;
        if (isHeading) return heading(level + 1, item?.label);
        const indent = "  ".repeat(item?.level ?? 0);
        return item === null ? "block" : { as: "block", mark: indent + item.label, indent: `${indent}  ` };
      },
      r: (element) => {
        const properties = childOf(element, "rPr");
        if (isOn(properties, "vanish")) return "skip";
        if (isOn(properties, "strike") || isOn(properties, "dstrike")) return inline("~~");
        if (valueOf(properties, "vertAlign") === "superscript") return inline("^");
        return !isHeading && isOn(properties, "b") ? inline("**") : "through";
      },
      hyperlink: ({ attributes }) => {
        const link = relations(partName).get(attributes["r:id"] ?? "");
        return link === undefined ? "through" : inline("[", `](${link.target})`);
      },
      tr: (row) => ({ as: "row", before: Number(valueOf(childOf(row, "trPr"), "gridBefore") ?? 0) }),
      tc: (element) => ({ as: "cell", columns: Number(valueOf(childOf(element, "tcPr"), "gridSpan") ?? 1) }),
      ddList: (one) => say(elementsOf(one, "listEntry")[Number(valueOf(one, "result") ?? 0)]?.attributes["val"] ?? ""),
      altChunk: ({ attributes }) => say(chunkOf(relations(partName).get(attributes["r:id"] ?? "")?.target)),
      delText: (element) => say(textOf(element)),
      ...{ tab: say("\t"), ptab: say("\t"), cr: say("\n"), noBreakHyphen: say("-"), rt: inline("[", "]") },
      sym: ({ attributes }) => say(symbolOf(attributes["font"], attributes["char"])),
      checkBox: (box) => say(isOn(box, childOf(box, "checked") === undefined ? "default" : "checked") ? "☒" : "☐"),
      ...{ ins: change("inserted"), moveTo: change("inserted"), del: change("deleted"), moveFrom: change("deleted") },
      ...{ commentReference: takeNote, footnoteReference: takeNote, endnoteReference: takeNote },
      ...{ inline: pictureOrText, anchor: pictureOrText, imagedata: image() },
    },
  };
}

/** The characters of fonts by their places: all of Symbol that text has, and of Wingdings what forms and typing take. */
const ownFonts: Readonly<Record<string, { readonly [place: number]: string }>> = {
  symbol:
    `${
      "\0".repeat(32)
    } !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼` +
    `${"\0".repeat(33)}€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑`,
  wingdings: { 0x4a: "☺", 0x6f: "☐", 0xa8: "☐", 0xe0: "→", 0xe8: "➔", 0xfb: "✘", 0xfc: "✔", 0xfd: "☒", 0xfe: "☑" },
};

/** §17.3.3.30: a character by its place in a font of its own, which may be moved to F000 and beyond, or by its code. */
function symbolOf(font = "", char = ""): string {
  const code = parseInt(char, 16);
  const own = ownFonts[font.toLowerCase()];
  const shown = own === undefined ? String.fromCharCode(code) : own[code & 0xff];
  return /^\P{C}$/u.test(shown ?? "") ? `${shown}` : `[${`symbol ${font} ${char}`.trim()}]`;
}

function valueOf(element: Element | undefined, name: string): string | undefined {
  return childOf(element, name)?.attributes["val"];
}

/** §17.17.4: a property that is there is on, unless it says otherwise. */
function isOn(properties: Element | undefined, name: string): boolean {
  const property = childOf(properties, name);
  return property !== undefined && !["0", "false", "off"].includes(property.attributes["val"] ?? "");
}

/** Styles that inherit from each other. */
const maxStyles = 20;

/** Styles with what they inherit (§17.7.4.3): their level in the outline, and the list that they are of. */
function readStyles(root: Element) {
  const styles = new Map(allOf(root, "style").map((style) => [style.attributes["styleId"], style]));
  return (id: string | undefined) => {
    const chain: Element[] = [];
    let style = styles.get(id);
    for (; style !== undefined && chain.length < maxStyles; style = styles.get(valueOf(style, "basedOn"))) {
      chain.push(style);
    }
    const own = <T>(read: (style: Element, properties: Element | undefined) => T | undefined) =>
      chain.map((one) => read(one, childOf(one, "pPr"))).find((value) => value !== undefined);
    return {
      outline: own((style, properties) => {
        const heading = /^heading (\d)|^title$/i.exec(valueOf(style, "name") ?? "");
        return valueOf(properties, "outlineLvl") ??
          (heading === null ? undefined : String(Number(heading[1] ?? 1) - 1));
      }),
      numbering: own((_, properties) => childOf(properties, "numPr")),
      level: own((_, properties) => valueOf(childOf(properties, "numPr"), "ilvl")),
    };
  };
}

const numerals: Readonly<Record<string, string>> = {
  ...{ lowerLetter: "a", upperLetter: "A", lowerRoman: "i", upperRoman: "I" },
};

/** Counts numbered paragraphs as Word does (§17.9): a contract is cited by these numbers. */
function createNumbering(root: Element) {
  const byId = (name: string, key: string) =>
    new Map(elementsOf(childOf(root, "numbering"), name).map((one) => [one.attributes[key] ?? "", one]));
  const lists = byId("num", "numId");
  const kinds = byId("abstractNum", "abstractNumId");
  const counters = new Map<string, number[]>();
  const begun = new Set<Element>();
  return (numbering: Element, styleLevel: string | undefined): { label: string; level: number } | null => {
    const list = lists.get(valueOf(numbering, "numId") ?? "");
    const kind = valueOf(list, "abstractNumId") ?? "";
    const levels = elementsOf(kinds.get(kind), "lvl");
    const level = Math.min(Number(valueOf(numbering, "ilvl") ?? styleLevel ?? 0) || 0, 8);
    const levelAt = (at: number) => levels.find(({ attributes }) => Number(attributes["ilvl"]) === at);
    const own = levelAt(level);
    const text = valueOf(own, "lvlText") ?? "";
    if (list === undefined || own === undefined || valueOf(own, "numFmt") === "none") return null;
    if (valueOf(own, "numFmt") === "bullet") return { label: "- ", level };
    const counts = counters.getOrInsert(kind, []);
    for (const override of begun.has(list) ? [] : elementsOf(list, "lvlOverride")) { // §17.9.8: restarts with this list
      const start = valueOf(override, "startOverride");
      if (start !== undefined) counts[Number(override.attributes["ilvl"]) || 0] = Number(start) - 1;
    }
    begun.add(list);
    const startOf = (at: number) => Number(valueOf(levelAt(at), "start") ?? 1);
    for (let at = 0; at <= level; at++) counts[at] ??= startOf(at) - (at === level ? 1 : 0);
    counts[level] = (counts[level] ?? 0) + 1;
    counts.length = level + 1;
    const label = text.replace(/%(\d)/g, (_, digit) => {
      const at = Number(digit) - 1;
      return formatNumber(counts[at] ?? startOf(at), numerals[valueOf(levelAt(at), "numFmt") ?? ""]);
    });
    return { label: label === "" ? "" : `${label} `, level };
  };
}
