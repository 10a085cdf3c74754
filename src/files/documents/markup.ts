/** XML and HTML as a bounded tree. Entities that a document declares are not expanded, and nothing is fetched. */
import { Parser } from "htmlparser2";
import { type DocumentBudget, DocumentRefusal } from "./document.ts";

/** Elements within each other. */
const maxDepth = 400;
/** What a node takes in memory beside its text, about. */
const nodeBytes = 200;

/** An element by its name without prefix; of its attributes, those of relationships (`r:id`) alone keep theirs. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: (Element | string)[];
}

export interface ParseOptions {
  readonly html?: boolean;
  /** Elements of these names are handed over when they end, and not kept: rows of a sheet, for one. */
  readonly each?: Readonly<Record<string, (element: Element) => void>>;
}

/** Parses XML, or HTML as browsers do. What is damaged gives what was read before. */
export function parseMarkup(
  text: string,
  budget: DocumentBudget,
  { html = false, each = {} }: ParseOptions = {},
): Element {
  if (!html && text.includes("<!ENTITY")) {
    throw new DocumentRefusal("it declares entities of its own, which are not expanded");
  }
  const root: Element = { name: "", attributes: {}, children: [] };
  const open = [root];
  const top = () => open.at(-1) ?? root;
  const parser = new Parser({
    onopentag(name, given) {
      if (open.length > maxDepth) throw new DocumentRefusal(`it nests more than ${maxDepth} elements`);
      const attributes: Record<string, string> = Object.create(null);
      for (const [key, value] of Object.entries(given)) attributes[key.startsWith("r:") ? key : localName(key)] = value;
      budget.take(nodeBytes);
      open.push({ name: localName(name), attributes, children: [] });
    },
    onclosetag() {
      const element = open.pop() ?? root;
      if (Object.hasOwn(each, element.name)) each[element.name]?.(element);
      else top().children.push(element);
    },
    ontext(data) {
      const { children } = top();
      const last = children.at(-1);
      if (typeof last === "string") children[children.length - 1] = last + data;
      else children.push(data);
    },
  }, { xmlMode: !html, decodeEntities: true });
  parser.end(text);
  return root;
}

/** The text of XML in the encoding that it declares (XML 1.0 §4.3.3). */
export function decodeMarkup(bytes: Uint8Array): string {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 1024));
  const label = bytes[0] === 0xff && bytes[1] === 0xfe
    ? "utf-16le"
    : bytes[0] === 0xfe && bytes[1] === 0xff
    ? "utf-16be"
    : /(?:encoding=|charset=)["']?([\w-]+)/i.exec(head)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

export function elementsOf(element: Element | undefined, name?: string): Element[] {
  return (element?.children ?? []).filter((child): child is Element =>
    typeof child !== "string" && (name === undefined || child.name === name)
  );
}

/** The element at the end of a path of names, each the first of its kind. */
export function childOf(element: Element | undefined, ...names: string[]): Element | undefined {
  return names.reduce<Element | undefined>(
    (parent, name) =>
      parent?.children.find((child): child is Element => typeof child !== "string" && child.name === name),
    element,
  );
}

/** All elements of a name, at any depth, in the document's order. */
export function allOf(element: Element | undefined, ...names: string[]): Element[] {
  const found: Element[] = [];
  const visit = (child: Element | string) => {
    if (typeof child === "string") return;
    if (names.includes(child.name)) found.push(child);
    child.children.forEach(visit);
  };
  element?.children.forEach(visit);
  return found;
}

export function textOf(element: Element | string | undefined): string {
  return typeof element === "string" ? element : (element?.children ?? []).map(textOf).join("");
}
