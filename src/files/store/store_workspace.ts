/** The workspace in a key-value store, for hosts without a disk. It has no links and no special files. */
import { failure, success } from "../../lib/result.ts";
import { digestOf } from "../../lib/secrets.ts";
import type { DirectoryEntry, Workspace } from "../workspace/port.ts";
import { writingOf } from "./write.ts";
import { sizeOf, sweepStore } from "./change.ts";
import { readRange } from "./content.ts";
import {
  createStore,
  entriesOf,
  type EntryRecord,
  findInStore,
  type RecordedChange,
  type Store,
  type StoreWorkspaceOptions,
} from "./store.ts";
import { rearrangingOf } from "./rearrange.ts";
import { createStoredTrash, createStoreTrash, type StoreTrash } from "./trash.ts";

/** Opens the workspace. What crashes have left is swept before its first operation. */
export function openStoreWorkspace(options: StoreWorkspaceOptions): Workspace {
  const opened = createStore(options);
  const kept = options.trash === undefined ? null : createStoreTrash(options.trash, opened);
  const trash = opened.trash !== null && opened.trash.keepMs > 0 ? kept : null;
  let swept: Promise<Store> | null = null;
  const store = (): Promise<Store> =>
    swept ??= sweepStore(opened).then(() => kept?.tidy(opened, opened.clock())).then(() => opened).catch(
      (error: unknown) => {
        swept = null; // the next operation tries again
        throw error;
      },
    );
  return workspaceWith(store, opened, trash, null);
}

/** The workspace whose operations are steps of `change`, or else separate changes. */
function workspaceWith(
  store: () => Promise<Store>,
  opened: Pick<Store, "limits">,
  trash: StoreTrash | null,
  change: RecordedChange | null,
): Workspace {
  const { limits } = opened;
  const changing = async (): Promise<Store> => ({ ...await store(), change: change ?? trash?.begin(null) ?? null });
  const settled = async <T>(operation: (store: Store) => Promise<T>): Promise<T> => {
    const outcome = await operation(await changing());
    if (trash?.isOverfull) await trash.tidy(await store());
    return outcome;
  };
  return {
    limits,
    ...readingOf(store),
    write: (path, bytes, writeOptions) => settled((each) => writingOf(each).write(path, bytes, writeOptions)),
    receive: (path, content, receiveOptions) =>
      settled((each) => writingOf(each).receive(path, content, receiveOptions)),
    copy: (from, to, copyOptions) => settled((each) => writingOf(each).copy(from, to, copyOptions)),
    move: (from, to, moveOptions) => settled((each) => rearrangingOf(each).move(from, to, moveOptions)),
    remove: (path, removeOptions) => settled((each) => rearrangingOf(each).remove(path, removeOptions)),
    makeDirectory: (path, makeOptions) => settled((each) => rearrangingOf(each).makeDirectory(path, makeOptions)),
    trash: trash && createStoredTrash(trash, { open: store, changing }),
    begin: (...change) => workspaceWith(store, opened, trash, trash?.begin(...change) ?? null),
    close: () => Promise.resolve(),
  };
}

const maxReadAttempts = 5;

/** The operations of the port that change nothing. */
function readingOf(open: () => Promise<Store>): Pick<Workspace, "read" | "readInto" | "stat" | "trueNames" | "list"> {
  const reading: ReturnType<typeof readingOf> = {
    async read(path, range) {
      const store = await open();
      const { maxReadBytes } = store.limits;
      for (let attempt = 1;; attempt++) {
        const found = await findInStore(store, path);
        if (!found.ok) return found;
        if (found.value.kind === "directory") return failure({ reason: "is_directory" });
        const { sizeBytes, sha256, generation: version, modifiedAt } = found.value;
        if (range === undefined && sizeBytes > maxReadBytes) {
          return failure({ reason: "too_large", sizeBytes, limitBytes: maxReadBytes });
        }
        const offset = Math.min(range?.offsetBytes ?? 0, sizeBytes);
        const length = Math.min(range?.lengthBytes ?? sizeBytes, maxReadBytes, sizeBytes - offset);
        const bytes = await readRange(store, found.value, offset, length);
        const isWhole = length === sizeBytes;
        if (bytes !== null && (!isWhole || digestOf(bytes) === sha256)) {
          return success({ bytes, sizeBytes, sha256: isWhole ? sha256 : null, version, modifiedAt });
        }
        // replaced while it was read: the entry points to the new content by now
        if (attempt === maxReadAttempts) return failure({ reason: "io", code: "EIO" });
      }
    },
    async readInto(path, buffer, offsetBytes) {
      const part = await reading.read(path, { offsetBytes, lengthBytes: buffer.byteLength });
      if (!part.ok) return part;
      const { bytes, sizeBytes } = part.value;
      buffer.set(bytes);
      return success({ lengthBytes: bytes.byteLength, sizeBytes });
    },
    async stat(path) {
      const found = await findInStore(await open(), path);
      if (!found.ok) return found;
      const { kind, modifiedAt } = found.value;
      return success({ kind, sizeBytes: sizeOf(found.value), modifiedAt });
    },
    trueNames: ({ text }) => success([text]), // it has no links
    async list(path, { limit = Infinity, after, details = false } = {}) {
      const store = await open();
      const found = await findInStore(store, path);
      if (!found.ok) return found;
      if (found.value.kind === "file") return failure({ reason: "not_a_directory" });
      const wanted = Math.min(limit, store.limits.maxListEntries);
      const entries: DirectoryEntry[] = [];
      for await (const [name, record] of entriesOf(store, found.value.id, wanted + 1, after)) {
        if (store.rules.isDenied([...path.segments, name])) continue;
        if (entries.length === wanted) return success({ entries, hasMore: true });
        entries.push(toEntry(name, record, details));
      }
      return success({ entries, hasMore: false });
    },
  };
  return reading;
}

function toEntry(name: string, record: EntryRecord, details: boolean): DirectoryEntry {
  const { kind, modifiedAt } = record;
  if (!details) return { name, kind };
  return record.kind === "file" ? { name, kind, sizeBytes: record.sizeBytes, modifiedAt } : { name, kind, modifiedAt };
}
