/** One page of a list that is in order, and where the next one begins. */
import { type Html, html } from "../../lib/html.ts";
import type { Visit } from "./section.ts";

interface Page<T> {
  readonly shown: readonly T[];
  /** Leads to the next page; `null` on the last. */
  readonly next: string | null;
}

/** What stands after the cursor that the address gives under `name`; elements that come and go move no other page. */
export function pageOf<T>(
  all: readonly T[],
  { query }: Visit,
  { name, size, cursorOf, falling = false }: {
    readonly name: string;
    readonly size: number;
    cursorOf(element: T): string;
    /** The list begins with the greatest cursor. */
    readonly falling?: boolean;
  },
): Page<T> {
  const cursor = query.get(name);
  const rest = cursor === null
    ? all
    : all.filter((each) => falling ? cursorOf(each) < cursor : cursorOf(each) > cursor);
  const shown = rest.slice(0, size);
  const last = shown.at(-1);
  return { shown, next: last === undefined || rest.length <= size ? null : cursorOf(last) };
}

/** A cursor for a list in the order of times, and of ids among those of the same moment. */
export function timeCursor(time: number, id: string): string {
  return `${String(time).padStart(15, "0")}.${id}`;
}

/** The link to the next page; `kept` are the other members of the address. */
export function nextLink(
  visit: Visit,
  { section, name, next, words, kept = {} }: {
    readonly section: string;
    readonly name: string;
    readonly next: string | null;
    readonly words: string;
    readonly kept?: Readonly<Record<string, string>>;
  },
): Html | null {
  return next === null ? null : html`<p><a href="${visit.href(section, { ...kept, [name]: next })}">${words}</a></p>`;
}
