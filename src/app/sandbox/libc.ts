/** The few calls of Linux that Deno does not offer, by FFI, for the launcher of Landlock: the server does not import it. */
import { permittedLibraries } from "../../lib/library_paths.ts";

const functions = {
  createRuleset: { name: "syscall", parameters: ["i64", "buffer", "usize", "u32"], result: "i32" },
  addRule: { name: "syscall", parameters: ["i64", "i32", "u32", "buffer", "u32"], result: "i32" },
  restrictSelf: { name: "syscall", parameters: ["i64", "i32", "u32"], result: "i32" },
  prctl: { parameters: ["i32", "u64", "u64", "u64", "u64"], result: "i32" },
  open: { parameters: ["buffer", "i32"], result: "i32" },
  strdup: { parameters: ["buffer"], result: "u64" },
  execv: { parameters: ["buffer", "buffer"], result: "i32" },
} as const;

export type LauncherLibc = Deno.DynamicLibrary<typeof functions>["symbols"];

/** Loads glibc, the only C library that Deno runs on; `null` where the permission or the library is missing. */
export function loadLauncherLibc(): LauncherLibc | null {
  for (const path of permittedLibraries()) {
    try {
      return Deno.dlopen(path, functions).symbols;
    } catch {
      continue; // not where this distribution keeps it
    }
  }
  return null;
}

export function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}

/** Becomes another program, in this process: same id, streams and environment. Returns only when it cannot. */
export function becomeProgram(libc: LauncherLibc, path: string, args: readonly string[]): void {
  // with a list of libraries, Deno tells no buffer's address: C's own copies have one
  const addresses = BigUint64Array.from([...[path, ...args].map((text) => libc.strdup(cString(text))), 0n]);
  libc.execv(cString(path), new Uint8Array(addresses.buffer));
}
