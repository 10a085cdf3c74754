/** OpenDocument texts, sheets and presentations (OASIS ODF 1.3, part 3): odt, ods, odp. */
import { macroRemarks, openContainer, outsideRemarks } from "./container.ts";
import { columnName, type DocumentBudget, type DocumentReader, DocumentRefusal, titleOf } from "./document.ts";
import {
  countOf,
  type Dialect,
  formatNumber,
  formulaText,
  heading,
  image,
  inline,
  oneLine,
  renderFlow,
  say,
  seriesWords,
  type Sheet,
  type SheetRow,
  slideText,
  toNumberText,
  toSheets,
  withFormula,
  wordsOf,
} from "./markdown.ts";
import { allOf, childOf, type Element, elementsOf, textOf } from "./markup.ts";

/** What a sheet may have (Excel's own bounds), and what a cell of it takes beside its text. */
const maxRows = 1_048_576;
const [maxColumns, cellCost] = [16_384, 16];

export const readOpenDocument: DocumentReader = (bytes, budget) => {
  const { names, part } = openContainer(bytes, budget);
  if (allOf(part("META-INF/manifest.xml"), "encryption-data").length > 0) {
    throw new DocumentRefusal("it is encrypted with a password");
  }
  const content = childOf(part("content.xml"), "document-content");
  const [body] = elementsOf(childOf(content, "body"));
  if (body === undefined) throw new DocumentRefusal("it is damaged: it has no content");
  const title = titleOf(textOf(allOf(part("meta.xml"), "title")[0]));
  const remarks = macroRemarks(names, /^(basic|scripts)\/(?!.*script-l[bc]\.xml$).+\.(xml|py|js|bsh)$/);
  const styles = new Map(
    [...allOf(content, "style", "list-style"), ...allOf(part("styles.xml"), "style", "list-style")]
      .map((style) => [`${style.name} ${style.attributes["name"]}`, style]),
  );
  const outside = allOf(body, "image", "object", "section-source", "plugin")
    .map(({ attributes: { href: target = "" } }) => ({ target })).filter(({ target }) =>
      /^(?:\w+:|\.\.\/)/.test(target)
    );
  remarks.push(...outsideRemarks(outside));
  if (body.name === "spreadsheet") {
    const sheets = elementsOf(body, "table").map((table) => toSheet(table, { part, styles, budget }));
    return { kind: "ods", title, remarks, ...toSheets(sheets, budget) };
  }
  if (body.name === "presentation") {
    const parts = toSlides(body, { part, styles, budget });
    return { kind: "odp", title, summary: countOf(parts.length, "slide"), remarks, parts };
  }
  const text = renderFlow(body, odfDialect(body, { part, styles, budget }), budget);
  const changes = allOf(childOf(body, "tracked-changes"), "changed-region").length;
  if (changes > 0) remarks.unshift(`has ${countOf(changes, "tracked change")}, marked in the text`);
  const summary = `${wordsOf(text)}, ${countOf(allOf(body, "table").length, "table")}`;
  return { kind: "odt", title, summary, remarks, parts: [{ name: "text", text }] };
};

interface Source extends Pick<ReturnType<typeof openContainer>, "part"> {
  readonly styles: ReadonlyMap<string, Element>;
  readonly budget: DocumentBudget;
}

function toSlides(body: Element, source: Source) {
  const { styles, budget } = source;
  const dialect = odfDialect(body, source);
  return elementsOf(body, "page").map((page, index) => {
    const style = styles.get(`style ${page.attributes["style-name"]}`);
    const isHidden = childOf(style, "drawing-page-properties")?.attributes["visibility"] === "hidden";
    const notes = elementsOf(page, "notes").map((one) => renderFlow(one, dialect, budget)).join("");
    const shown = { ...page, children: elementsOf(page).filter(({ name }) => name !== "notes") };
    return { name: `slide ${index + 1}`, text: slideText(isHidden, renderFlow(shown, dialect, budget), notes) };
  });
}

function odfDialect(body: Element, { part, styles, budget }: Source): Dialect {
  /** The number after the last of each list, by its id and by its style. */
  const ends = new Map<string, number>();
  const changes = new Map(allOf(body, "changed-region").map((region) => [region.attributes["id"] ?? "", region]));
  const labels = new Map<Element, string>();
  const label = (list: Element, style: Element | undefined, level: number) => {
    const own = styles.get(`list-style ${list.attributes["style-name"]}`) ?? style;
    const kind = elementsOf(own).find(({ attributes }) => Number(attributes["level"]) === level);
    const { "num-format": one = "", "num-prefix": before = "", "num-suffix": after = "." } = kind?.attributes ?? {};
    const { "continue-list": continued, "continue-numbering": goesOn, "style-name": name = "", id = "" } =
      list.attributes;
    const earlier = ends.get(continued ?? (goesOn === "true" ? name : ""));
    let number = earlier ?? (Number(kind?.attributes["start-value"] ?? 1) || 1);
    for (const item of elementsOf(list)) {
      number = Number(item.attributes["start-value"] ?? number) || number;
      const isPlain = item.name === "list-header" || elementsOf(item)[0]?.name === "list" ||
        (kind?.name === "list-level-style-number" && one === "");
      const isBullet = kind?.name !== "list-level-style-number";
      labels.set(item, isPlain ? "" : isBullet ? "- " : `${before}${formatNumber(number++, one)}${after} `);
      for (const inner of elementsOf(item, "list")) label(inner, own, level + 1);
    }
    for (const key of [id, name]) if (key !== "") ends.set(key, number);
  };
  const changeOf = ({ attributes }: Element) => elementsOf(changes.get(attributes["change-id"] ?? ""))[0];
  const inner = (element: Element | undefined) =>
    element === undefined ? "" : oneLine(renderFlow(element, dialect, budget));
  const changed = (element: Element) => {
    const change = changeOf(element);
    const by = `by ${textOf(allOf(change, "creator")[0]) || "someone"}: `;
    if (change?.name !== "deletion") return say(change?.name === "insertion" ? `[inserted ${by}` : "");
    return say(`[deleted ${by}${inner({ ...change, children: elementsOf(change).slice(1) })}]`);
  };
  const item = (element: Element) => {
    const mark = labels.get(element) || undefined;
    return { as: "block", indent: " ".repeat(Math.min(mark?.length ?? 2, 8)), mark } as const;
  };
  let isTitle = false;
  const dialect: Dialect = {
    hasLooseText: true,
    other: "through",
    roles: {
      h: ({ attributes }) => heading(Number(attributes["outline-level"])),
      p: ({ attributes }) => isTitle || attributes["style-name"] === "Title" ? heading(1) : "block",
      span: ({ attributes }) => {
        const style = styles.get(`style ${attributes["style-name"]}`);
        const properties = childOf(style, "text-properties")?.attributes ?? {};
        if ((properties["text-line-through-style"] ?? "none") !== "none") return inline("~~");
        if (/^super|^[1-9]/.test(properties["text-position"] ?? "")) return inline("^");
        return properties["font-weight"] === "bold" && !isTitle ? inline("**") : "through";
      },
      a: ({ attributes: { href = "" } }) => /^#|^$/.test(href) ? "through" : inline("[", `](${href})`),
      list: (element) => {
        if (!labels.has(elementsOf(element)[0] ?? element)) label(element, undefined, 1);
        return "through";
      },
      ...{ "list-item": item, "list-header": item },
      ...{ table: "table", "table-row": "row", "table-cell": "cell", "covered-table-cell": "cell" },
      ...{ s: say(" "), tab: say("\t"), "line-break": say("\n") },
      note: (element) =>
        say(`[${element.attributes["note-class"] ?? "note"}: ${inner(childOf(element, "note-body"))}]`),
      annotation: (element) => say(annotationWords(element)),
      frame: (element) => {
        isTitle = element.attributes["class"] === "title";
        const object = objectWords(element, part);
        if (object !== null) return say(object);
        // A table is followed by a picture of itself.
        return elementsOf(element)[0]?.name === "image"
          ? image(textOf(childOf(element, "desc") ?? childOf(element, "title")))
          : "block";
      },
      ...{ "change-start": changed, change: changed },
      "change-end": (element) => say(changeOf(element)?.name === "insertion" ? "]" : ""),
      ...{ "tracked-changes": "skip", "note-citation": "skip", "page-number": "skip", forms: "skip" },
      ...{ desc: "skip", title: "skip", image: "skip" },
    },
  };
  return dialect;
}

function annotationWords(annotation: Element): string {
  const by = textOf(childOf(annotation, "creator"));
  const text = elementsOf(annotation, "p").map(wordsIn).join(" ");
  return `[comment${by === "" ? "" : ` by ${by}`}: ${text}]`;
}

/** What is embedded in a frame: a formula, a chart by the table that it keeps, or that there is something else. */
function objectWords(frame: Element, part: Source["part"]): string | null {
  const [object] = elementsOf(frame, "object");
  if (object === undefined) return null;
  const content = part(`${object.attributes["href"]?.replace(/^\.\/|\/$/g, "")}/content.xml`);
  const [formula, chart] = [allOf(content, "math")[0], allOf(content, "chart").at(-1)];
  if (formula !== undefined) return formulaText(formula);
  if (chart === undefined) return "[embedded object]";
  const [[, ...names] = [], ...rows] = allOf(chart, "table-row").map((row) => elementsOf(row).map(cellText));
  const series = names.map((name, at) =>
    [name, rows.map((cells) => [cells[0], cells[at + 1] ?? ""] as const)] as const
  );
  return seriesWords(allOf(childOf(chart, "title"), "p").map(textOf).join(" "), series);
}

function toSheet(table: Element, { part, styles, budget }: Source): Sheet {
  const style = childOf(styles.get(`style ${table.attributes["style-name"]}`), "table-properties");
  const rows: SheetRow[] = [];
  const merged: string[] = [];
  const hiddenColumns = new Set<number>();
  let column = 1;
  for (const { attributes } of allOf(table, "table-column")) {
    const end = column + (Number(attributes["number-columns-repeated"] ?? 1) || 1);
    for (let at = column; isHidden(attributes) && at < end && at <= maxColumns; at++) hiddenColumns.add(at);
    column = end;
  }
  let number = 1;
  for (const row of allOf(table, "table-row")) {
    const repeats = Number(row.attributes["number-rows-repeated"] ?? 1) || 1;
    const cells = new Map<number, string>();
    let at = 1;
    for (const cell of elementsOf(row)) {
      const times = Number(cell.attributes["number-columns-repeated"] ?? 1) || 1;
      const text = cellText(cell);
      const [wide = 1, high = 1] = ["columns", "rows"].map((each) =>
        Number(cell.attributes[`number-${each}-spanned`]) || 1
      );
      if (wide * high > 1) merged.push(`${columnName(at)}${number}:${columnName(at + wide - 1)}${number + high - 1}`);
      for (let copy = 0; text !== "" && copy < times && at + copy <= maxColumns; copy++) cells.set(at + copy, text);
      at += times;
    }
    const size = cells.values().reduce((sum, text) => sum + text.length + cellCost, 0);
    for (let copy = 0; cells.size > 0 && copy < repeats && number + copy <= maxRows; copy++) {
      budget.take(size);
      rows.push({ number: number + copy, isHidden: isHidden(row.attributes), cells });
    }
    number += repeats;
  }
  const isHiddenSheet = style?.attributes["display"] === "false";
  const drawn = allOf(table, "frame").map((frame) =>
    objectWords(frame, part) ??
      allOf(frame, "text-box").map((box) => `[text box: ${oneLine(allOf(box, "p").map(wordsIn).join(" "))}]`).join("")
  ).filter((words) => words !== "");
  drawn.forEach((words) => budget.take(words.length));
  return { name: table.attributes["name"] ?? "", isHidden: isHiddenSheet, rows, hiddenColumns, merged, drawn };
}

/** The words of a paragraph, with its blanks, tabs and line breaks (part 3, §6.1). */
function wordsIn({ children }: Element): string {
  return children.map((child) => {
    if (typeof child === "string") return child;
    if (child.name === "s") return " ".repeat(Math.min(Number(child.attributes["c"] ?? 1) || 1, 100));
    return child.name === "tab" ? "\t" : child.name === "line-break" ? "\n" : wordsIn(child);
  }).join("");
}

function isHidden(attributes: Element["attributes"]): boolean {
  return (attributes["visibility"] ?? "visible") !== "visible";
}

function cellText(cell: Element): string {
  const { "value-type": type = "", value, "date-value": date, formula = "" } = cell.attributes;
  const shown = elementsOf(cell, "p").map(wordsIn).join("\n");
  const plain = type === "date" && date !== undefined
    ? date.replace("T", " ")
    : type === "percentage" && value !== undefined
    ? `${toNumberText(Number(value) * 100)}%`
    : (type === "float" || type === "currency") && value !== undefined
    ? toNumberText(Number(value))
    : shown;
  // "of:=SUM([.A1:.B2];[Sheet.C3])" (part 4, §5.8)
  const written = formula.replace(/^\w+:=|^=/, "").replace(
    /\[([^\]]*)\]/g,
    (_, range) => range.replace(/(^|:)\./g, "$1"),
  );
  const notes = elementsOf(cell, "annotation").map(annotationWords).join(" ");
  const [link] = allOf(cell, "a").map(({ attributes: { href = "" } }) => href);
  const text = link === undefined || link === plain ? plain : `[${plain}](${link})`;
  return `${withFormula(text, written)} ${notes}`.trim();
}
