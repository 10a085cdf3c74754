/** What docx, xlsx and pptx share (ECMA-376, part 2): parts, their relationships, and what is told of each of them. */
import { macroRemarks, openContainer, outsideRemarks } from "./container.ts";
import { type DocumentBudget, DocumentRefusal, titleOf } from "./document.ts";
import { type Dialect, formulaText, image, say, seriesWords } from "./markdown.ts";
import { allOf, childOf, type Element, textOf } from "./markup.ts";

export type OfficePackage = ReturnType<typeof openOffice>;

interface Relation {
  readonly type: string;
  readonly target: string;
  readonly isExternal: boolean;
}

export function openOffice(bytes: Uint8Array, budget: DocumentBudget) {
  const { names, part, read } = openContainer(bytes, budget);
  const kept = new Map<string, Map<string, Relation>>();
  /** Where a part's relationships lead, by id, in the order that they are written. */
  const relations = (name: string): Map<string, Relation> =>
    kept.getOrInsertComputed(name, () => {
      const [, folder = "", file = ""] = /^(.*\/)?(.*)$/.exec(name) ?? [];
      const all = allOf(part(`${folder}_rels/${file}.rels`), "Relationship");
      return new Map(all.map(({ attributes: { Id = "", Type: type = "", Target = "", TargetMode } }) => {
        const isExternal = TargetMode === "External";
        const target = isExternal ? Target : URL.parse(Target, `x:/${folder}`)?.pathname.slice(1) ?? "";
        return [Id, { type, target, isExternal }];
      }));
    });
  /** The first related part of a type, by the end of its type's address ("/styles"). */
  const related = (name: string, type: string) =>
    [...relations(name).values()].find((relation) => !relation.isExternal && relation.type.endsWith(type))?.target;
  const main = related("", "/officeDocument");
  if (main === undefined) throw new DocumentRefusal("it is damaged: it names no main part");
  const remarks = macroRemarks(names, /vbaproject\.bin$|xl\/macrosheets\//);
  const outside = [...relations(main).values()].filter(({ type, isExternal }) =>
    isExternal && !type.endsWith("/hyperlink")
  );
  remarks.push(...outsideRemarks(outside));
  const title = titleOf(textOf(childOf(part("docProps/core.xml"), "coreProperties", "title")));
  return { names, title, remarks, main, part, read, relations, related };
}

/** The cached values of charts that a part shows, as one line a series. */
export function chartWords({ part }: Pick<OfficePackage, "part">, name: string | undefined): string {
  const chart = name === undefined ? undefined : part(name);
  // A cache leaves empty cells out, and says of each other one at which place it is; the innermost of several labels.
  const pointsOf = (element: Element | undefined) =>
    new Map(
      allOf(element, "pt").map((point) => [point.attributes["idx"], textOf(childOf(point, "v"))] as const).reverse(),
    );
  const title = allOf(childOf(chart, "chartSpace", "chart", "title"), "t").map(textOf).join("");
  const series = allOf(chart, "ser").map((one) => {
    const names = pointsOf(childOf(one, "cat") ?? childOf(one, "xVal"));
    const points = [...pointsOf(childOf(one, "val") ?? childOf(one, "yVal"))].reverse()
      .map(([place, value]) => [names.get(place), value] as const);
    return [allOf(childOf(one, "tx"), "v").map(textOf).join(" "), points] as const;
  });
  return seriesWords(title, series);
}

/** What stands for a picture: its alternative text, where it has one. */
export function imageOf(properties: Element | undefined): ReturnType<typeof image> {
  return image(properties?.attributes["descr"] ?? properties?.attributes["title"]);
}

/** The elements that texts and slides share. */
export function officeDialect(office: OfficePackage, partName: string): Dialect {
  const chart = ({ attributes }: Element) =>
    say(chartWords(office, office.relations(partName).get(attributes["r:id"] ?? "")?.target));
  const diagram = ({ attributes }: Element) => {
    const points = allOf(office.part(office.relations(partName).get(attributes["r:dm"] ?? "")?.target), "pt");
    const texts = points.map((point) => allOf(childOf(point, "t"), "t").map(textOf).join("")).filter((text) =>
      text !== ""
    );
    return say(`[diagram: ${texts.join("; ")}]`);
  };
  return {
    hasLooseText: false,
    other: ({ name }) => name.endsWith("Pr") ? "skip" : "through",
    roles: {
      ...{ tbl: "table", tr: "row", tc: "cell", Fallback: "skip" },
      ...{ t: (element) => say(textOf(element)), br: say("\n"), chart, relIds: diagram },
      oMath: (element) => say(formulaText(element)),
    },
  };
}
