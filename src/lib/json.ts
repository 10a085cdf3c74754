/** JSON from elsewhere: parsing it, and the shape of what was parsed. */

/** Levels of a long text: V8 takes a third of a second for half a million (RFC 8259 §9 allows such a bound). */
export const maxDepth = 5_000;
/** Shorter ones cannot be so deep that it takes long. */
const longCharacters = 65_536;

/** The parsed text; `undefined`, which no JSON text gives, when it is none, or too deep. */
export function parseJson(text: string): unknown {
  if (text.length > longCharacters && isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether arrays and objects lie in one another more than {@link maxDepth} deep. */
export function isTooDeep(text: string): boolean {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < text.length && depth <= maxDepth; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) isString = !isString;
    else if (isString) at += code === 0x5c ? 1 : 0; // past what a backslash escapes
    else if (code === 0x5b || code === 0x7b) depth++;
    else if (code === 0x5d || code === 0x7d) depth--;
  }
  return depth > maxDepth;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members that have a value. */
export function present<T extends object>(members: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(entries) as { [Name in keyof T]?: NonNullable<T[Name]> };
}

/**
 * Whether a JSON value has more than so many parts, at any depth: asked before a schema looks at what a caller made up.
 * Zod explains each wrong item, and takes seconds for a megabyte of them.
 */
export function hasMoreParts(value: unknown, limit: number): boolean {
  const open: unknown[] = [value];
  for (let count = 1; open.length > 0;) {
    const part = open.pop();
    if (typeof part !== "object" || part === null) continue;
    const inner: readonly unknown[] = Array.isArray(part) ? part : Object.values(part);
    count += inner.length;
    if (count > limit) return true;
    for (const each of inner) open.push(each);
  }
  return false;
}
