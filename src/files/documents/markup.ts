/** XML and HTML as a bounded tree. Entities that a document declares are not expanded, and nothing is fetched. */
import { Parser } from "htmlparser2";
import { type DocumentBudget, DocumentRefusal } from "./document.ts";

/** Elements within each other. */
const maxDepth = 400;
const pieceBytes = 1_048_576;
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

/** Parses XML, or HTML as browsers do: text, or bytes in the encoding that they declare. What is damaged gives what was read before. */
export function parseMarkup(source: string | Uint8Array, budget: DocumentBudget, options: ParseOptions = {}): Element {
  const { html = false, each = {} } = options;
  const root: Element = { name: "", attributes: {}, children: [] };
  const open = [root];
  const top = () => open.at(-1) ?? root;
  let linking = "r:"; // the prefix of relationships
  const parser = new Parser({
    onprocessinginstruction(_, data) {
      if (!html && data.includes("!ENTITY")) {
        throw new DocumentRefusal("it declares entities of its own, which are not expanded");
      }
    },
    onopentag(name, given) {
      if (open.length > maxDepth) throw new DocumentRefusal(`it nests more than ${maxDepth} elements`);
      const attributes: Record<string, string> = {};
      for (const [key, value] of Object.entries(given)) {
        const local = localName(key);
        if (key.startsWith("xmlns:") && value.endsWith("/relationships")) linking = `${local}:`;
        attributes[key.startsWith(linking) ? `r:${local}` : local] = value;
      }
      budget.take(nodeBytes);
      open.push({ name: localName(name), attributes, children: [] });
    },
    onclosetag() {
      if (open.length === 1) return; // of a tag that the text ends in, which was not opened
      const element = open.pop() ?? root;
      const take = Object.hasOwn(each, element.name) ? each[element.name] : undefined;
      if (take === undefined) {
        top().children.push(element);
        return;
      }
      take(element);
      budget.take(-nodeBytes * (1 + allOf(element).length)); // it is not kept
    },
    ontext(data) {
      const { children } = top();
      const last = children.at(-1);
      if (typeof last === "string") children[children.length - 1] = last + data;
      else children.push(data);
    },
  }, { xmlMode: !html, decodeEntities: true });
  for (const piece of typeof source === "string" ? [source] : decodedPieces(source)) parser.write(piece);
  parser.end();
  return root;
}

/** Bytes in the encoding that they declare (XML 1.0 §4.3.3), in pieces: a sheet is not held as one text. */
function* decodedPieces(bytes: Uint8Array): Generator<string> {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 1024));
  const declared = /(?:encoding=|charset=)["']?([\w-]+)/i.exec(head)?.[1] ?? "utf-8";
  const label = head.startsWith("\xff\xfe") ? "utf-16le" : head.startsWith("\xfe\xff") ? "utf-16be" : declared;
  const decoder = decoderOf(label);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    yield decoder.decode(bytes.subarray(at, at + pieceBytes), { stream: true });
  }
  yield decoder.decode();
}

export function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
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
  return names.reduce<Element | undefined>((parent, name) => elementsOf(parent, name)[0], element);
}

/** All elements of these names, or of any, at any depth, in the document's order. */
export function allOf(element: Element | undefined, ...names: string[]): Element[] {
  const found: Element[] = [];
  const visit = (child: Element | string) => {
    if (typeof child === "string") return;
    if (names.length === 0 || names.includes(child.name)) found.push(child);
    child.children.forEach(visit);
  };
  element?.children.forEach(visit);
  return found;
}

export function textOf(element: Element | string | undefined): string {
  return typeof element === "string" ? element : (element?.children ?? []).map(textOf).join("");
}
