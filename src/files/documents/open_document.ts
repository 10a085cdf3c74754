/** OpenDocument texts, sheets and presentations (OASIS ODF 1.3, part 3): odt, ods, odp. */
import { openContainer } from "./container.ts";
import { type DocumentBudget, type DocumentReader, DocumentRefusal, type DocumentText } from "./document.ts";
import {
  block,
  cell,
  countOf,
  type Dialect,
  heading,
  image,
  inline,
  oneLine,
  paragraphs,
  renderFlow,
  type Role,
  row,
  say,
  skip,
  table,
  through,
  wordsOf,
} from "./flow.ts";
import { type Sheet, type SheetRow, toNumberText, toSheets, withFormula } from "./grid.ts";
import { allOf, childOf, type Element, elementsOf, parseMarkup, textOf } from "./markup.ts";
import { formatNumber } from "./numerals.ts";

/** How often one row or cell that has text is repeated. */
const maxRepeats = 1_000;

export const readOpenDocument: DocumentReader = (bytes, budget) => {
  const container = openContainer(bytes, budget);
  const part = (name: string) => {
    const content = container.read(name);
    return parseMarkup(content ?? "", budget);
  };
  if (allOf(part("META-INF/manifest.xml"), "encryption-data").length > 0) {
    throw new DocumentRefusal("it is encrypted with a password");
  }
  const content = childOf(part("content.xml"), "document-content");
  const [body] = elementsOf(childOf(content, "body"));
  if (body === undefined) throw new DocumentRefusal("it is damaged: it has no content");
  const title = textOf(allOf(part("meta.xml"), "title")[0]).trim();
  const styles = new Map(
    [...allOf(content, "style", "list-style"), ...allOf(part("styles.xml"), "style", "list-style")]
      .map((style) => [`${style.name} ${style.attributes["name"]}`, style]),
  );
  const found: Omit<DocumentText, "title"> = body.name === "spreadsheet"
    ? {
      kind: "ods",
      remarks: [],
      ...toSheets(elementsOf(body, "table").map((table) => toSheet(table, styles)), budget),
    }
    : body.name === "presentation"
    ? { kind: "odp", ...toSlides(body, styles, budget) }
    : { kind: "odt", ...toText(body, styles, budget) };
  if (
    container.names.some((name) =>
      /^(basic|scripts)\/.+\.(xml|py|js|bsh)$/.test(name) && !/script-l[bc]\.xml$/.test(name)
    )
  ) {
    found.remarks.push("contains macros, which were not run");
  }
  return Promise.resolve({ ...found, ...(title === "" ? {} : { title }) });
};

type Styles = ReadonlyMap<string, Element>;

function toText(body: Element, styles: Styles, budget: DocumentBudget): Omit<DocumentText, "kind"> {
  const text = renderFlow(body, odfDialect(body, styles, budget), budget);
  const changes = allOf(childOf(body, "tracked-changes"), "changed-region").length;
  return {
    summary: `${wordsOf(text)}, ${countOf(allOf(body, "table").length, "table")}`,
    remarks: changes === 0 ? [] : [`has ${countOf(changes, "tracked change")}, marked in the text`],
    parts: [{ name: "text", text }],
  };
}

function toSlides(body: Element, styles: Styles, budget: DocumentBudget): Omit<DocumentText, "kind"> {
  const dialect = odfDialect(body, styles, budget);
  const parts = elementsOf(body, "page").map((page, index) => {
    const style = styles.get(`style ${page.attributes["style-name"]}`);
    const isHidden = childOf(style, "drawing-page-properties")?.attributes["visibility"] === "hidden";
    const notes = elementsOf(page, "notes").map((one) => renderFlow(one, dialect, budget)).join("");
    const text = renderFlow(
      { ...page, children: elementsOf(page).filter(({ name }) => name !== "notes") },
      dialect,
      budget,
    );
    const said = notes === "" ? "" : `Notes: ${notes}`;
    return { name: `slide ${index + 1}`, text: paragraphs(isHidden ? "(hidden slide)" : "", text, said) };
  });
  return { summary: countOf(parts.length, "slide"), remarks: [], parts };
}

function odfDialect(body: Element, styles: Styles, budget: DocumentBudget): Dialect {
  const changes = new Map(allOf(body, "changed-region").map((region) => [region.attributes["id"] ?? "", region]));
  const labels = new Map<Element, string>();
  const label = (list: Element, style: Element | undefined, level: number) => {
    const own = styles.get(`list-style ${list.attributes["style-name"]}`) ?? style;
    const kind = elementsOf(own).find(({ attributes }) => Number(attributes["level"]) === level);
    const { "num-format": one = "", "num-prefix": before = "", "num-suffix": after = "." } = kind?.attributes ?? {};
    let number = Number(kind?.attributes["start-value"] ?? 1) || 1;
    for (const item of elementsOf(list)) {
      const isPlain = item.name === "list-header" || elementsOf(item)[0]?.name === "list" ||
        (kind?.name === "list-level-style-number" && one === "");
      const isBullet = kind?.name !== "list-level-style-number";
      labels.set(item, isPlain ? "" : isBullet ? "- " : `${before}${formatNumber(number++, one)}${after} `);
      for (const inner of elementsOf(item, "list")) label(inner, own, level + 1);
    }
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
  const item = (element: Element): Role => {
    const mark = labels.get(element) ?? "";
    const indent = " ".repeat(Math.min(mark.length || 2, 8));
    return { as: "block", indent, ...(mark === "" ? {} : { mark }) };
  };
  let isTitle = false;
  const dialect: Dialect = {
    hasLooseText: true,
    other: () => through,
    roles: {
      h: ({ attributes }) => heading(Number(attributes["outline-level"])),
      p: ({ attributes }) => isTitle || attributes["style-name"] === "Title" ? heading(1) : block,
      span: ({ attributes }) => {
        const properties = childOf(styles.get(`style ${attributes["style-name"]}`), "text-properties")?.attributes ??
          {};
        if ((properties["text-line-through-style"] ?? "none") !== "none") return inline("~~");
        if (/^super|^[1-9]/.test(properties["text-position"] ?? "")) return inline("^");
        return properties["font-weight"] === "bold" && !isTitle ? inline("**") : through;
      },
      a: ({ attributes: { href = "" } }) => /^#|^$/.test(href) ? through : inline("[", `](${href})`),
      list: (element) => {
        if (!labels.has(elementsOf(element)[0] ?? element)) label(element, undefined, 1);
        return through;
      },
      ...{ "list-item": item, "list-header": item },
      ...{ table, "table-row": row, "table-cell": cell, "covered-table-cell": cell },
      ...{ s: say(" "), tab: say("\t"), "line-break": say("\n") },
      note: (element) =>
        say(`[${element.attributes["note-class"] ?? "note"}: ${inner(childOf(element, "note-body"))}]`),
      annotation: (element) => say(annotationWords(element)),
      frame: (element) => {
        isTitle = element.attributes["class"] === "title";
        // A table is followed by a picture of itself.
        return elementsOf(element)[0]?.name === "image"
          ? image(textOf(childOf(element, "desc") ?? childOf(element, "title")))
          : block;
      },
      ...{ "change-start": changed, change: changed },
      "change-end": (element) => say(changeOf(element)?.name === "insertion" ? "]" : ""),
      ...{ "tracked-changes": skip, "note-citation": skip, "page-number": skip, forms: skip },
      ...{ desc: skip, title: skip, image: skip },
    },
  };
  return dialect;
}

function annotationWords(annotation: Element): string {
  const by = textOf(childOf(annotation, "creator"));
  const text = elementsOf(annotation, "p").map(textOf).join(" ");
  return `[comment${by === "" ? "" : ` by ${by}`}: ${text}]`;
}

function toSheet(table: Element, styles: Styles): Sheet {
  const style = childOf(styles.get(`style ${table.attributes["style-name"]}`), "table-properties");
  const rows: SheetRow[] = [];
  const hiddenColumns = new Set<number>();
  const merged: string[] = [];
  let column = 1;
  for (const { attributes } of allOf(table, "table-column")) {
    const repeats = Math.min(Number(attributes["number-columns-repeated"] ?? 1) || 1, maxRepeats);
    for (let at = 0; at < repeats; at++, column++) if (isHidden(attributes)) hiddenColumns.add(column);
  }
  let number = 1;
  for (const row of allOf(table, "table-row")) {
    const repeats = Number(row.attributes["number-rows-repeated"] ?? 1) || 1;
    const cells = new Map<number, string>();
    let at = 1;
    for (const cell of elementsOf(row)) {
      const times = Number(cell.attributes["number-columns-repeated"] ?? 1) || 1;
      const text = cellText(cell);
      for (let copy = 0; text !== "" && copy < Math.min(times, maxRepeats); copy++) cells.set(at + copy, text);
      at += times;
    }
    for (let copy = 0; cells.size > 0 && copy < Math.min(repeats, maxRepeats); copy++) {
      rows.push({ number: number + copy, isHidden: isHidden(row.attributes), cells });
    }
    number += repeats;
  }
  return {
    name: table.attributes["name"] ?? "",
    isHidden: style?.attributes["display"] === "false",
    rows,
    hiddenColumns,
    merged,
  };
}

function isHidden(attributes: Element["attributes"]): boolean {
  return (attributes["visibility"] ?? "visible") !== "visible";
}

function cellText(cell: Element): string {
  const { "value-type": type = "", value, "date-value": date, formula = "" } = cell.attributes;
  const shown = elementsOf(cell, "p").map(textOf).join("\n");
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
  return `${withFormula(plain, written)} ${notes}`.trim();
}
