/** Which names a refusal or an answer may suggest to the caller: none that a rule keeps from it. */
import { createAsyncContext } from "./program.ts";

interface Suggestible {
  /** Whether a path of the workspace may be named, wherever it leads. */
  path(path: string): boolean | Promise<boolean>;
  /** Whether a table, or a path as it is written, may be named. */
  place(name: string): boolean;
  /** Whether the call may read on in another table, or a file by another name, on which the rules that decided say nothing. */
  table(name: string): boolean;
  /** The same of a file that it chooses itself. */
  file(path: string): boolean | Promise<boolean>;
}

const yes = (): boolean => true;
/** Of the judge's own look at what is there now. */
export const unjudged: Suggestible = { path: yes, place: yes, table: yes, file: yes };

/** Of the call that runs; without one, everything may be named. */
export const suggestible = createAsyncContext<Suggestible>();

export async function maySuggestPath(path: string): Promise<boolean> {
  return await suggestible.current()?.path(path) ?? true;
}

export function maySuggestPlace(name: string): boolean {
  return suggestible.current()?.place(name) ?? true;
}

export function mayReadOnIn(table: string): boolean {
  return suggestible.current()?.table(table) ?? true;
}

export async function mayGoOnAt(path: string): Promise<boolean> {
  return await suggestible.current()?.file(path) ?? true;
}
