/** Removes a directory and all below it, one entry at a time. */
import type { Descriptor } from "../kernel/descriptor.ts";
import { DT_DIR, DT_UNKNOWN } from "../kernel/numbers.ts";
import { type DiskInfo, isForeign } from "./directory.ts";
import { Opened, withOpened } from "./opened.ts";

/** Longest path of names that is opened in one call: PATH_MAX and its zero byte, were each character of three bytes. */
const maxRelativePath = 1_365;

/** Removes what is at the name in `directory`, the deepest first, and yields after each entry. What is mounted stays. */
export function* removeBelow(directory: Descriptor, root: DiskInfo, name: string): Generator<void> {
  const entry = directory.statusOf(name);
  if (entry === null) return;
  if (!entry.isDirectory || isForeign(root, entry)) return directory.removeFile(name);
  const pending = [name];
  for (let path; (path = pending.at(-1)) !== undefined;) {
    const slash = path.lastIndexOf("/");
    if (path.length > maxRelativePath) {
      using holder = new Opened(directory.open(path.slice(0, slash), "directory"));
      yield* removeBelow(holder.descriptor, root, path.slice(slash + 1));
      pending.pop();
      continue;
    }
    const below: string[] = [];
    using holder = new Opened(directory.open(path, "list"));
    const { descriptor } = holder;
    for (let batch; (batch = descriptor.readEntries()).length > 0;) {
      for (const { name: each, type } of batch) {
        const isDirectory = type === DT_DIR || (type === DT_UNKNOWN && descriptor.statusOf(each)?.isDirectory);
        if (isDirectory) below.push(`${path}/${each}`);
        else descriptor.removeFile(each);
        yield;
      }
    }
    if (below.length > 0) {
      pending.push(...below);
      continue;
    }
    pending.pop();
    const last = path.slice(slash + 1);
    if (slash < 0) directory.removeDirectory(last);
    else withOpened(directory.open(path.slice(0, slash), "directory"), (parent) => parent.removeDirectory(last));
    yield;
  }
}
