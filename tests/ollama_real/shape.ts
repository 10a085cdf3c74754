/** What JSON looks like without its values: for comparing the stand-in with a real server. */

/** `"string"`, `"number"`, ... for scalars; objects and the first items of arrays by their parts. */
export type Shape = string | readonly Shape[] | { readonly [key: string]: Shape };

/** The shape of a JSON value. */
export function shapeOf(value: unknown): Shape {
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== "object") return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, shapeOf(part)]));
}

/** The keys of `needed` that `offered` lacks or has with another shape, as paths. */
export function shapeProblems(needed: Shape, offered: Shape | undefined, at = ""): string[] {
  if (offered === undefined) return [`${at} is missing`];
  if (typeof needed === "string" || typeof offered === "string") {
    return needed === offered ? [] : [`${at} is ${JSON.stringify(offered)}, not ${JSON.stringify(needed)}`];
  }
  if (Array.isArray(needed) || Array.isArray(offered)) {
    if (!Array.isArray(needed) || !Array.isArray(offered)) return [`${at} is a list on one side only`];
    return needed[0] === undefined || offered[0] === undefined ? [] : shapeProblems(needed[0], offered[0], `${at}[]`);
  }
  const parts = offered as { readonly [key: string]: Shape };
  return Object.entries(needed).flatMap(([key, part]) => shapeProblems(part, parts[key], `${at}.${key}`));
}
