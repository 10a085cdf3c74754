/** Formulas of Office (ECMA-376, part 1, §22.1) and of MathML on one line: what is a fraction, root or index stays one. */
import { childOf, type Element, elementsOf } from "./markup.ts";

const nothing: Element = { name: "", attributes: {}, children: [] };

/** Such as `(a+b)/(c_1)=√(x^2+1)`. */
export function formulaText(element: Element): string {
  const { name } = element;
  const inner = (): string =>
    element.children.map((child) =>
      typeof child === "string" ? name === "t" ? child : child.trim() : formulaText(child)
    ).join("");
  const child = (at: number): string => formulaText(elementsOf(element)[at] ?? nothing);
  const named = (kind: string): string => elementsOf(element, kind).map(formulaText).join("|");
  const property = (kind: string): string | undefined => childOf(element, `${name}Pr`, kind)?.attributes["val"];
  if (name === "num") return `${grouped(inner())}/`;
  if (name === "den") return grouped(inner());
  if (name === "sub" || name === "lim") return index("_", inner());
  if (name === "sup") return index("^", inner());
  if (name === "rad" || name === "msqrt") return `√(${inner()})`;
  if (name === "deg") return inner().replace(/.$/s, "$&: ");
  if (name === "nary") return ` ${property("chr") ?? "∫"}${named("sub")}${named("sup")} ${named("e")} `;
  if (name === "d") return `${property("begChr") ?? "("}${named("e")}${property("endChr") ?? ")"}`;
  if (name === "mfrac") return `${grouped(child(0))}/${grouped(child(1))}`;
  if (name === "msup" || name === "mover") return child(0) + index("^", child(1));
  if (name === "msub" || name === "munder") return child(0) + index("_", child(1));
  if (name === "msubsup" || name === "munderover") {
    return `${child(0)}${index("_", child(1))}${index("^", child(2))} `;
  }
  if (name === "mroot") return `√(${child(1)}: ${child(0)})`;
  return /^annotation(-xml)?$|Pr$/.test(name) ? "" : inner();
}

function index(mark: string, text: string): string {
  return text === "" ? "" : mark + grouped(text);
}

function grouped(text: string): string {
  return /^[\p{L}\p{N}.]*$/u.test(text) ? text : `(${text})`;
}
