/** Descriptors that begin in one directory and nowhere else. */
import type { Descriptor, KernelRoots } from "./descriptor.ts";
import type { EntryStatus } from "./entry_status.ts";
import { KernelError } from "./libc.ts";

/** Opens `directory`, wherever it leads, and the directories in it, which links do not replace. */
export function confineRoots(roots: KernelRoots, directory: string): KernelRoots {
  const within = <T>(path: string, use: (base: Descriptor, name: string) => T): T => {
    if (!path.startsWith(`${directory}/`)) throw new KernelError("EACCES");
    const base = roots.open(directory);
    try {
      return use(base, path.slice(directory.length + 1));
    } finally {
      base.close();
    }
  };
  return Object.freeze<KernelRoots>({
    open: (path) => path === directory ? roots.open(path) : within(path, (base, name) => base.open(name, "directory")),
    statusOf: (path): EntryStatus | null =>
      path === directory ? roots.statusOf(path) : within(path, (base, name) => base.statusOf(name)),
    readWhole: roots.readWhole,
    screen: roots.screen,
  });
}
