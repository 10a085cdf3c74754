/**
 * Looks ahead of a search: files later in its order are looked through by another thread, and by this one while that is
 * busy, and most turn out to hold nothing. The search gets everything in its order.
 */
import { setImmediate } from "node:timers";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";
import type { LinePattern } from "./line_pattern.ts";
import { holdsNothingOf, type SearchBuffer } from "./search_file.ts";

/** Short searches end before another thread would be there. */
const filesPerAsk = 64;
/** How many entries may be ahead of the search. */
const maxAhead = 1024;
/** Where more of the files have to be searched after all, looking ahead costs more than it saves. */
const maxFoundShare = 1 / 4;
const minFound = 16;
/** How often others get their turn before this waits for the time that a large file takes. */
const quickPasses = 64;
const waitMs = 1;
/** Of about a millisecond each: a file that takes longer hangs, such as one of a network mount that is gone. */
const maxWaits = 1_000;

/** What the search gets. */
interface Looked<Item> {
  readonly item: Item;
  /** Where the file lies; `null` for what is no file to search. */
  readonly path: WorkspacePath | null;
  /** Whether it is known that the file holds no match. */
  readonly holdsNothing: boolean;
}

interface Waiting<Item> extends Looked<Item> {
  readonly isHanded: boolean;
}

interface LookAhead<Item> {
  /** Takes what comes next in the search's order. */
  add(item: Item, path: WorkspacePath | null): void;
  /** What the search is to do next; `undefined` where nothing is there, or known yet. */
  next(): Looked<Item> | undefined;
  /** Whether something is still ahead. */
  readonly isAhead: boolean;
  /** Whether nothing should be added before something was taken. */
  readonly isFull: boolean;
  /** Waits a little for what is not known yet. */
  wait(): Promise<void>;
  end(): void;
}

/** `pattern` is `null` where no file is searched. */
export function createLookAhead<Item>(
  workspace: Workspace,
  pattern: LinePattern | null,
  buffer: SearchBuffer,
): LookAhead<Item> {
  const screens = pattern?.screens ?? [];
  const begin = screens.length > 0 ? workspace.screen : undefined;
  let screening = null as ReturnType<NonNullable<typeof begin>>;
  let queue: Waiting<Item>[] = [];
  let taken = 0;
  let isWorthIt = begin !== undefined;
  let [files, looked, found, passes] = [0, 0, 0, 0];
  const count = (isFound: boolean): void => {
    looked++;
    if (isFound) found++;
    if (found > minFound && found > looked * maxFoundShare) isWorthIt = false;
  };
  const isAhead = (): boolean => taken < queue.length;
  const lookAt = (item: Item, path: WorkspacePath): Waiting<Item> => {
    if (isWorthIt && screening === null && ++files % filesPerAsk === 0) screening = begin?.(screens) ?? null;
    if (!isWorthIt || screening === null || pattern === null) {
      return { item, path, holdsNothing: false, isHanded: false };
    }
    const isHanded = screening.hand(path);
    const isMine = !isHanded && isAhead(); // else it is searched at once
    const holdsNothing = isMine && holdsNothingOf(workspace, path, buffer, pattern);
    if (isMine) count(!holdsNothing);
    return { item, path, holdsNothing, isHanded };
  };
  return {
    get isAhead() {
      return isAhead();
    },
    get isFull() {
      return queue.length - taken >= maxAhead;
    },
    add(item, path) {
      const waiting = path === null ? { item, path, holdsNothing: false, isHanded: false } : lookAt(item, path);
      if (!isAhead()) [queue, taken] = [[], 0];
      queue.push(waiting);
    },
    next() {
      const first = queue[taken];
      if (first?.isHanded !== true) {
        if (first !== undefined) taken++;
        return first;
      }
      const known = screening?.next() ?? "look";
      if (known === "waiting") return undefined;
      taken++;
      passes = 0;
      count(known === "look");
      return { item: first.item, path: first.path, holdsNothing: known === "nothing" };
    },
    async wait() {
      screening?.rouse();
      const isQuick = ++passes <= quickPasses;
      await new Promise<void>((resolve) => void (isQuick ? setImmediate(resolve) : setTimeout(resolve, waitMs)));
      const path = queue[taken]?.path ?? null;
      if (passes <= quickPasses + maxWaits || path === null) return;
      screening?.abandon(path);
      screening = null; // the others are searched as usual
      isWorthIt = false;
    },
    end: () => screening?.end(),
  };
}
