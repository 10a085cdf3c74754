/** JSON from elsewhere: parsing it, and the shape of what was parsed. */

/** Levels of a long text: V8 takes a third of a second for half a million (RFC 8259 §9 allows such a bound). */
const maxDepth = 5_000;
/** Shorter ones can hold nothing that takes long. */
const longCharacters = 65_536;

/** The parsed text; `undefined`, which no JSON text gives, when it is none, or {@link whyTooMuch} says why it is not parsed. */
export function parseJson(text: string, maxValues = Infinity): unknown {
  if (whyTooMuch(text, maxValues) !== null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a long text has too much of: levels of arrays and objects in one another, or values. */
export function whyTooMuch(text: string, maxValues = Infinity): string | null {
  if (text.length <= longCharacters) return null;
  let [depth, values] = [0, 1];
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) isString = !isString;
    else if (isString) at += code === 0x5c ? 1 : 0; // past what a backslash escapes
    else if (code === 0x5d || code === 0x7d) depth--;
    else if (code === 0x2c) values++;
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > maxDepth) return `is more than ${maxDepth} levels deep`;
      const next = text.charCodeAt(at + 1);
      if (next !== 0x5d && next !== 0x7d) values++; // the first of its own
    }
    if (values > maxValues) return `has more than ${maxValues} values`;
  }
  return null;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The same value with the keys of its objects in order: a client may write them in another one when it retries. */
export function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, withSortedKeys(value[key])]));
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
