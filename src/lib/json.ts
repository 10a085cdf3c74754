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
