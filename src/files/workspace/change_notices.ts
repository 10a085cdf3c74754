/** Changes of a workspace, gathered for a short time and told together. */
import { compareNames, type WorkspacePath } from "./path.ts";
import type { WorkspaceChange } from "./watch.ts";

interface ChangeNotices {
  add(segments: readonly string[]): void;
  addAll(paths: Iterable<readonly string[]>): void;
  /** Something changed, and it is unknown what. */
  addUnknown(): void;
  /** Files appeared or disappeared, of which the paths are told besides. */
  addListChange(): void;
  close(): void;
}

/** Changes within this time are told together. */
export const changeDelayMilliseconds = 200;
/** More changed paths than this at once are told as partial. */
export const maxChangedPaths = 500;

/** How changes are told. */
interface ChangeNoticesOptions {
  /** More changed paths than this at once are told as partial. */
  readonly maxPaths: number;
  /** Changes within this time are told together. */
  readonly coalesceMilliseconds: number;
  /** Of which names nothing is told. */
  readonly isDenied: (segments: readonly string[]) => boolean;
  readonly onChange: (change: WorkspaceChange) => void;
}

export function createChangeNotices(options: ChangeNoticesOptions): ChangeNotices {
  const { maxPaths, coalesceMilliseconds, isDenied, onChange } = options;
  let pending = new Map<string, WorkspacePath>();
  let isPartial = false;
  let isListChanged = false;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const tell = (): void => {
    const paths = [...pending.values()].sort((a, b) => compareNames(a.text, b.text));
    const change = { paths, isPartial, isListChanged };
    pending = new Map();
    isPartial = false;
    isListChanged = false;
    timer = null;
    onChange(change);
  };
  const schedule = (): void => {
    timer ??= setTimeout(tell, coalesceMilliseconds);
  };
  const add = (segments: readonly string[]): void => {
    if (isDenied(segments)) return;
    const text = segments.join("/");
    if (pending.size < maxPaths) pending.set(text, { text, segments });
    else if (!pending.has(text)) isPartial = true;
    schedule();
  };
  return {
    add,
    addAll(paths) {
      for (const segments of paths) add(segments);
    },
    addUnknown() {
      isPartial = true;
      schedule();
    },
    addListChange() {
      isListChanged = true;
      schedule();
    },
    close() {
      if (timer !== null) clearTimeout(timer);
    },
  };
}
