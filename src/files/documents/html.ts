/** HTML pages, and what holds them: the chapters of EPUB books, and e-mail messages (RFC 5322, MIME). */
import PostalMime, { type Address, type Attachment } from "postal-mime";
import { openContainer } from "./container.ts";
import { type DocumentBudget, type DocumentReader, DocumentRefusal, titleOf } from "./document.ts";
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
  roleOf,
  say,
  wordsOf,
} from "./markdown.ts";
import { allOf, childOf, type Element, elementsOf, parseMarkup, textOf } from "./markup.ts";

const blocks = "address article aside body center dd details div dl dt fieldset figcaption figure footer form header " +
  "hgroup hr legend li main nav ol p section summary table ul h1 h2 h3 h4 h5 h6 pre blockquote";
const blockNames = new Set(blocks.split(" "));
const leftOut = "title script style template noscript head svg canvas iframe object video audio select".split(" ");
const hiding = /display:\s*none|visibility:\s*hidden|font-size:\s*0(?![.\d])/i;

export const readHtml: DocumentReader = (bytes, budget) => {
  const { text, title, remarks } = renderHtml(bytes, budget);
  return { kind: "html", title, summary: wordsOf(text), remarks, parts: [{ name: "text", text }] };
};

/** The Markdown of a page: what it hides is left out, and said to be. */
export function renderHtml(source: string | Uint8Array, budget: DocumentBudget) {
  const root = parseMarkup(source, budget, { html: true });
  let hidden = 0;
  const labels = new Map<Element, string>();
  const wrap = (mark: string) => (element: Element) => isInline(element) ? inline(mark) : "through";
  const roles: Dialect["roles"] = {
    ...Object.fromEntries([...blockNames].map((name) => [name, "block" as const])),
    ...Object.fromEntries(leftOut.map((name) => [name, "skip" as const])),
    ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((level) => [`h${level}`, heading(level)])),
    ...{ b: wrap("**"), strong: wrap("**"), s: wrap("~~"), del: wrap("~~"), strike: wrap("~~"), code: inline("`") },
    ...{
      br: say("\n"),
      pre: "pre",
      tr: "row",
      sup: inline("^"),
      blockquote: { as: "block", mark: "> ", indent: "> " },
    },
    ol: (element) => {
      const { start, type } = element.attributes;
      let number = Number(start ?? 1) || 1;
      for (const item of elementsOf(element, "li")) labels.set(item, `${formatNumber(number++, type)}. `);
      return "block";
    },
    li: (element) => {
      const mark = labels.get(element) ?? "- ";
      return { as: "block", mark, indent: " ".repeat(mark.length) };
    },
    img: ({ attributes: { alt } }) => alt === "" ? "skip" : image(alt),
    a: (element) => {
      const { href: link = "", type, role } = element.attributes;
      if (/noteref/.test(`${type} ${role}`)) return inline("^"); // EPUB 3.3 §4.3.5
      if (/^(?:#|javascript:|data:|$)/i.test(link)) return "through";
      return isInline(element)
        ? inline("[", `](${link})`)
        : say(`[${oneLine(renderFlow(element, dialect, budget))}](${link})`);
    },
    math: (element) => say(formulaText(element)),
    table: (element) => allOf(element, "table").length === 0 ? "table" : "block", // one that holds others lays a page out
    ...{ td: cellOf, th: cellOf },
  };
  const other: Dialect["other"] = (element: Element) => {
    const { hidden: isHidden, style = "" } = element.attributes;
    if (isHidden === undefined && !hiding.test(style)) return roleOf(element, { roles, other: "through" });
    hidden++;
    return "skip";
  };
  const dialect: Dialect = { hasLooseText: true, roles: {}, other };
  const text = renderFlow(root, dialect, budget);
  const remarks = hidden === 0 ? [] : [`${countOf(hidden, "hidden element")} left out; the source has the text`];
  return { text, title: titleOf(textOf(allOf(root, "title")[0])), remarks };
}

function cellOf({ attributes: { colspan, rowspan } }: Element) {
  return { as: "cell", columns: Number(colspan), rows: Number(rowspan) } as const;
}

function isInline(element: Element): boolean {
  return allOf(element, ...blockNames).length === 0;
}

/** EPUB 3.3 §4 and §5: the chapters in the order of the spine. */
export const readEpub: DocumentReader = (bytes, budget) => {
  const { names, part, read } = openContainer(bytes, budget);
  if (names.includes("meta-inf/encryption.xml") && names.includes("meta-inf/rights.xml")) {
    throw new DocumentRefusal("it is encrypted against copying");
  }
  const opf = allOf(part("META-INF/container.xml"), "rootfile")[0]?.attributes["full-path"] ?? "";
  const book = childOf(part(opf), "package");
  const files = new Map(allOf(book, "item").map(({ attributes }) => [attributes["id"], attributes["href"] ?? ""]));
  const remarks = new Set<string>();
  const parts = allOf(book, "itemref").map(({ attributes }, index) => {
    const path = new URL(files.get(attributes["idref"]) ?? "", `x:/${opf}`).pathname.slice(1);
    const page = renderHtml(read(decodeURIComponent(path)), budget);
    page.remarks.forEach((remark) => remarks.add(remark));
    return { name: `chapter ${index + 1}`, text: page.text };
  });
  const title = titleOf(textOf(allOf(childOf(book, "metadata"), "title")[0]));
  return { kind: "epub", title, summary: countOf(parts.length, "chapter"), remarks: [...remarks], parts };
};

/** Of a message: parts within each other, and what headers may hold. */
const maxNestingDepth = 50;
const maxHeadersSize = 1_048_576;

/** A message's headers, its text, and what is attached by name. */
export const readMail: DocumentReader = async (bytes, budget) => {
  budget.take(bytes.length * 2); // its parts are decoded
  const options = { maxNestingDepth, maxHeadersSize, maxRfc822NestingDepth: maxNestingDepth };
  const mail = await PostalMime.parse(bytes as Uint8Array<ArrayBuffer>, options);
  const page = mail.text?.trim() || mail.html === undefined ? null : renderHtml(mail.html, budget);
  const rows: [string, string | undefined][] = [
    ["From", mail.from && addressWords([mail.from])],
    ["To", addressWords(mail.to)],
    ["Cc", addressWords(mail.cc)],
    ["Date", mail.date],
    ["Subject", mail.subject],
    ["Attachments", mail.attachments.map(attachmentWords).join(", ")],
  ];
  const head = rows.filter(([, value]) => value).map(([name, value]) => `${name}: ${oneLine(value ?? "")}`).join("\n");
  return {
    kind: "eml",
    title: titleOf(mail.subject ?? ""),
    summary: countOf(mail.attachments.length, "attachment"),
    remarks: page?.remarks ?? [],
    parts: [{ name: "text", text: `${head}\n\n${page?.text ?? mail.text?.trim() ?? ""}` }],
  };
};

function addressWords(addresses: readonly Address[] = []): string {
  return addresses.flatMap((one) => one.group ?? [one]).map(({ name, address = "" }) =>
    name === "" || name === address ? address : `${name} <${address}>`
  ).join(", ");
}

function attachmentWords({ filename, mimeType, content }: Attachment): string {
  const size = typeof content === "string" ? content.length : content.byteLength;
  return `${filename ?? "unnamed"} (${mimeType}, ${countOf(size, "byte")})`;
}
