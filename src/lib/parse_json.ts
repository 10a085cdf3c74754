/** JSON from elsewhere. */

/** The parsed text; `undefined`, which no JSON text gives, when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
