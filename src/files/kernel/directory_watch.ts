/**
 * Notices changes in open directories, by one inotify(7) instance for all of them. Deno's own watch also asks to be
 * told of each opened file: while a client waited for changes, a search woke it up for every file.
 */
import { errorOf, inotify, type Libc } from "./libc.ts";
import { cPath, lengthOf, pathMax, toName } from "./stored_name.ts";

const { IN_ATTRIB, IN_CLOEXEC, IN_CLOSE_WRITE, IN_CREATE, IN_DELETE, IN_IGNORED } = inotify;
const { IN_MODIFY, IN_MOVED_FROM, IN_MOVED_TO, IN_ONLYDIR, IN_Q_OVERFLOW } = inotify;

/** An entry of a directory, and what became of it. */
interface ChangedEntry {
  readonly name: string;
  readonly change: "create" | "remove" | "rename" | "modify";
}

/** Called with each change, or with `null` when some were missed: the directories should then be watched again. */
export type OnEntryChange = (changed: ChangedEntry | null) => void;

/** Begins to watch the directory with this descriptor, and returns what ends it. */
type WatchDirectory = (descriptor: number, onChange: OnEntryChange) => () => void;

const eventMask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB |
  IN_ONLYDIR;
const eventsBytes = 65_536;
const toBigInt = BigInt;
const Bytes = Uint8Array; // other code could have it make smaller ones

/** Binds the watch to the library. The instance stays: its number is never another file's while a thread reads it. */
export function createDirectoryWatch(libc: Libc): WatchDirectory {
  const watched = new Map<number, Set<OnEntryChange>>();
  const linkBytes = new Uint8Array(pathMax); // its own: other code can import the one of paths, and read the number
  let instance = -1;
  let isReading = false;

  const tell = (bytes: Uint8Array, length: number): void => {
    const words = new Int32Array(bytes.buffer);
    for (let at = 0; at < length;) {
      const word = (offset: number): number => words[(at + offset) >> 2] ?? 0;
      const [watch, mask, nameBytes] = [word(inotify.wd), word(inotify.mask), word(inotify.len)];
      const start = at + inotify.bytes;
      at = start + nameBytes;
      if (mask & IN_Q_OVERFLOW) tellAll(watched, null);
      if (mask & IN_IGNORED) watched.delete(watch); // the directory is gone, or no longer watched
      if (nameBytes === 0) continue; // of the directory itself
      const changed = { name: toName(bytes.subarray(start, bytes.indexOf(0, start))), change: changeOf(mask) };
      for (const onChange of [...watched.get(watch) ?? []]) onChange(changed);
    }
  };
  const read = async (): Promise<void> => {
    const bytes = new Bytes(eventsBytes);
    isReading = true;
    while (watched.size > 0) {
      // the end of the last watch is an event, too
      const length = await libc.readLater(instance, bytes, toBigInt(lengthOf(bytes)));
      if (length > 0) tell(bytes, length);
      else fail();
    }
    isReading = false;
  };
  const fail = (): void => {
    tellAll(watched, null);
    watched.clear();
  };

  return (descriptor, onChange) => {
    if (instance < 0) instance = libc.inotifyInit(IN_CLOEXEC);
    // by its magic link: there is no such call by descriptor
    const watch = instance < 0
      ? -1
      : libc.inotifyAdd(instance, cPath(`/proc/self/fd/${descriptor}`, linkBytes), eventMask);
    if (watch < 0) throw errorOf(libc);
    const listeners = watched.get(watch) ?? new Set(); // one watch an inode, however often it is asked for
    watched.set(watch, listeners.add(onChange));
    if (!isReading) void read();
    return () => {
      if (!listeners.delete(onChange) || listeners.size > 0 || watched.get(watch) !== listeners) return;
      watched.delete(watch);
      libc.inotifyRemove(instance, watch);
    };
  };
}

function tellAll(watched: ReadonlyMap<number, ReadonlySet<OnEntryChange>>, changed: ChangedEntry | null): void {
  for (const onChange of [...watched.values()].flatMap((listeners) => [...listeners])) onChange(changed);
}

function changeOf(mask: number): ChangedEntry["change"] {
  if (mask & (IN_MOVED_FROM | IN_MOVED_TO)) return "rename";
  return mask & IN_CREATE ? "create" : mask & IN_DELETE ? "remove" : "modify";
}
