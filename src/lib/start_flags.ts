/** What the program starts with: the library that it may load, and how V8 collects garbage. */

/** Where distributions keep glibc: with a list of paths, Deno permits the library under one of them only. */
export const libraryPaths: readonly string[] = Object.freeze([
  "/lib/x86_64-linux-gnu/libc.so.6",
  "/lib/aarch64-linux-gnu/libc.so.6",
  "/lib64/libc.so.6",
  "/usr/lib64/libc.so.6",
  "/usr/lib/libc.so.6",
]);

/** The permission that a program which serves files starts with. A test holds that the tasks have the same. */
export const libraryFlag = `--allow-ffi=${libraryPaths.join(",")}`;

/** The libraries that this isolate may load, by their paths. */
export function permittedLibraries(): string[] {
  return libraryPaths.filter((path) => Deno.permissions.querySync({ name: "ffi", path }).state === "granted");
}

/**
 * V8 collects garbage once the heap has doubled. By itself it lets it grow to four times its size: sixty edits of a file
 * of 1 MiB then take 270 MiB, most of it garbage, in place of 200.
 */
export const heapFlag = "--v8-flags=--heap-growing-percent=100";
