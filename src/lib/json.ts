/** JSON from elsewhere: parsing it, and the shape of what was parsed. */

/** The parsed text; `undefined`, which no JSON text gives, when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
