/** What docx, xlsx and pptx share (ECMA-376, part 2): parts, their relationships, and what is told of each of them. */
import { type Container, openContainer } from "./container.ts";
import { type DocumentBudget, DocumentRefusal } from "./document.ts";
import { cell, countOf, type Dialect, image, type Role, row, say, skip, table, through } from "./flow.ts";
import { allOf, childOf, type Element, parseMarkup, type ParseOptions, textOf } from "./markup.ts";

export interface OfficePackage {
  readonly container: Container;
  readonly title: { readonly title?: string };
  /** Macros, external references: what every kind says. */
  readonly remarks: string[];
  /** The name of the main part. */
  readonly main: string;
  /** A part's root element, empty where there is no such part. */
  part(name: string | undefined, options?: ParseOptions): Element;
  /** Where a part's relationships lead, by id, in the order that they are written. */
  relations(name: string): Map<string, Relation>;
  /** The first related part of a type, by the end of its type's address ("/styles"). */
  related(name: string, type: string): string | undefined;
}

export interface Relation {
  readonly type: string;
  readonly target: string;
  readonly isExternal: boolean;
}

export function openOffice(bytes: Uint8Array, budget: DocumentBudget): OfficePackage {
  const container = openContainer(bytes, budget);
  const part = (name: string | undefined, options: ParseOptions = {}): Element => {
    const content = name === undefined ? null : container.read(name);
    return parseMarkup(content ?? "", budget, options);
  };
  const kept = new Map<string, Map<string, Relation>>();
  const relations = (name: string) => {
    const known = kept.get(name);
    if (known !== undefined) return known;
    const [, folder = "", file = ""] = /^(.*\/)?(.*)$/.exec(name) ?? [];
    const found = new Map(
      allOf(part(`${folder}_rels/${file}.rels`), "Relationship").map(({ attributes }) => {
        const isExternal = attributes["TargetMode"] === "External";
        const target = attributes["Target"] ?? "";
        return [attributes["Id"] ?? "", {
          type: attributes["Type"] ?? "",
          target: isExternal ? target : resolvePart(folder, target),
          isExternal,
        }];
      }),
    );
    kept.set(name, found);
    return found;
  };
  const related = (name: string, type: string) =>
    [...relations(name).values()].find((relation) => !relation.isExternal && relation.type.endsWith(type))?.target;
  const main = related("", "/officeDocument");
  if (main === undefined) throw new DocumentRefusal("it is damaged: it names no main part");
  const remarks: string[] = [];
  if (container.names.some((name) => /vbaproject\.bin$|xl\/macrosheets\//.test(name))) {
    remarks.push("contains macros, which were not run");
  }
  const outside = [...relations(main).values()].filter(({ type, isExternal }) =>
    isExternal && !type.endsWith("/hyperlink")
  );
  if (outside.length > 0) {
    const targets = outside.slice(0, 5).map(({ target }) => target.slice(0, 200)).join(", ");
    const were = outside.length === 1 ? "was" : "were";
    remarks.push(`refers to ${countOf(outside.length, "outside file")}, which ${were} not fetched: ${targets}`);
  }
  const title = textOf(childOf(part("docProps/core.xml"), "coreProperties", "title")).trim();
  return { container, title: title === "" ? {} : { title }, remarks, main, part, relations, related };
}

function resolvePart(folder: string, target: string): string {
  if (target.startsWith("/")) return target.slice(1);
  return new URL(target, `x:/${folder}`).pathname.slice(1);
}

/** The cached values of charts that a part shows, as one line a series. */
function chartWords({ part }: OfficePackage, name: string | undefined): string {
  const chart = name === undefined ? undefined : part(name);
  const values = (element: Element | undefined) => allOf(element, "v").map(textOf).slice(0, 50);
  const title = allOf(childOf(chart, "chartSpace", "chart", "title"), "t").map(textOf).join("");
  const series = allOf(chart, "ser").slice(0, 50).map((one) => {
    const names = values(childOf(one, "cat"));
    const points = values(childOf(one, "val")).map((value, at) =>
      names[at] === undefined ? value : `${names[at]} ${value}`
    );
    return `${values(childOf(one, "tx")).join(" ")}: ${points.join(", ")}`;
  });
  return `[chart${title === "" ? "" : ` ${title}`}: ${series.join("; ")}]`;
}

/** What stands for a picture: its alternative text, where it has one. */
export function imageOf(properties: Element | undefined): Role {
  return image(properties?.attributes["descr"] ?? properties?.attributes["title"]);
}

/** The elements that texts and slides share. */
export function officeDialect(office: OfficePackage, partName: string): Dialect {
  const chart = ({ attributes }: Element) =>
    say(chartWords(office, office.relations(partName).get(attributes["r:id"] ?? "")?.target));
  return {
    hasLooseText: false,
    other: ({ name }) => name.endsWith("Pr") ? skip : through,
    roles: {
      t: (element) => say(textOf(element)),
      br: say("\n"),
      tbl: table,
      tr: row,
      tc: cell,
      Fallback: skip,
      chart,
    },
  };
}
