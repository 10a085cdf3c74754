/** The few calls of Linux that Deno does not offer, by FFI. Only the launcher imports this: the server holds no FFI. */

const symbols = {
  syscall: { parameters: ["i64", "i64", "i64", "i64", "i64", "i64"], result: "i64" },
  open: { parameters: ["buffer", "i32"], result: "i32" },
  execv: { parameters: ["buffer", "buffer"], result: "i32" },
} as const;

export type Libc = Deno.DynamicLibrary<typeof symbols>["symbols"];

/** Loads glibc, the only C library that Deno runs on. Needs the permission for FFI. */
export function loadLibc(): Libc {
  return Deno.dlopen("libc.so.6", symbols).symbols;
}

/** Text as C has it. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}

/** The address of a buffer, which the caller keeps alive until the call is over. */
export function addressOf(buffer: BufferSource): bigint {
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer));
}

/** Becomes another program, in this process: same id, streams and environment. Returns only when it cannot. */
export function becomeProgram(libc: Libc, path: string, args: readonly string[]): void {
  const strings = [path, ...args].map(cString);
  const addresses = new BigUint64Array([...strings.map(addressOf), 0n]);
  libc.execv(cString(path), new Uint8Array(addresses.buffer));
}
