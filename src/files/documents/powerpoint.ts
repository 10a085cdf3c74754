/** PowerPoint presentations (ECMA-376, part 1, §19): a part for each slide, with its tables, charts, notes and comments. */
import type { DocumentReader } from "./document.ts";
import { countOf, type Dialect, formatNumber, heading, inline, renderFlow, slideText } from "./markdown.ts";
import { allOf, childOf, type Element, elementsOf, textOf } from "./markup.ts";
import { imageOf, officeDialect, type OfficePackage, openOffice } from "./office.ts";

export const readPowerPoint: DocumentReader = (bytes, budget) => {
  const office = openOffice(bytes, budget);
  const { main, part, relations, related, title, remarks } = office;
  const slides = elementsOf(childOf(part(main), "presentation", "sldIdLst"), "sldId");
  const render = (name: string | undefined, element: Element) =>
    renderFlow(element, slideDialect(office, name ?? ""), budget);
  const parts = slides.flatMap(({ attributes }, index) => {
    const name = relations(main).get(attributes["r:id"] ?? "")?.target;
    if (name === undefined) return [];
    const slide = part(name);
    const isHidden = ["0", "false"].includes(childOf(slide, "sld")?.attributes["show"] ?? "");
    const notesName = related(name, "/notesSlide");
    const notes = render(notesName, part(notesName));
    const comments = allOf(part(related(name, "/comments")), "cm").map((comment) =>
      `[comment: ${allOf(comment, "text", "t").map(textOf).join(" ")}]`
    );
    return [{ name: `slide ${index + 1}`, text: slideText(isHidden, render(name, slide), notes, comments) }];
  });
  return { kind: "pptx", title, summary: countOf(parts.length, "slide"), remarks, parts };
};

/** How numbered paragraphs write 1, by how the name of their kind begins (§20.1.10.61). */
const autoNumerals: Readonly<Record<string, string>> = {
  ...{ alphaLc: "a", alphaUc: "A", romanLc: "i", romanUc: "I" },
};

function slideDialect(office: OfficePackage, name: string): Dialect {
  const shared = officeDialect(office, name);
  const isNotes = name.includes("notesSlide");
  const numbers: number[] = []; // of the next paragraph at each level
  let isTitle = false;
  let isBody = false;
  return {
    ...shared,
    roles: {
      ...shared.roles,
      sp: (element) => {
        const placeholder = childOf(element, "nvSpPr", "nvPr", "ph");
        const type = placeholder?.attributes["type"] ?? "";
        isBody = placeholder !== undefined && ["", "body", "obj"].includes(type) && !isNotes;
        isTitle = type === "title" || type === "ctrTitle";
        return ["sldImg", "sldNum", "dt", "ftr", "hdr"].includes(type) ? "skip" : "block";
      },
      graphicFrame: () => {
        isTitle = isBody = false;
        return "block";
      },
      p: (element) => {
        const properties = childOf(element, "pPr");
        const level = Math.min(Number(properties?.attributes["lvl"] ?? 0) || 0, 8);
        if (isTitle) return heading(1);
        const has = (bullet: string) => childOf(properties, bullet) !== undefined;
        if (level === 0 && !has("buAutoNum")) numbers.length = 0;
        if (has("buNone") || !(isBody || level > 0 || has("buChar") || has("buAutoNum"))) return "block";
        const auto = childOf(properties, "buAutoNum")?.attributes;
        numbers.length = level + 1;
        const number = auto === undefined ? 0 : numbers[level] || Number(auto["startAt"] ?? 1);
        numbers[level] = auto === undefined ? 0 : number + 1;
        const label = auto === undefined
          ? "-"
          : `${formatNumber(number, autoNumerals[auto["type"]?.slice(0, 7) ?? ""])}.`;
        return { as: "block", mark: `${"  ".repeat(level)}${label} ` };
      },
      r: (element) => {
        if (Number(childOf(element, "rPr")?.attributes["baseline"] ?? 0) > 0) return inline("^");
        const [click] = allOf(element, "hlinkClick");
        const link = office.relations(name).get(click?.attributes["r:id"] ?? "");
        return link?.isExternal === true ? inline("[", `](${link.target})`) : "through";
      },
      pic: (element) => imageOf(childOf(element, "nvPicPr", "cNvPr")),
    },
  };
}
