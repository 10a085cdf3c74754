/**
 * node:fs for a process that kills itself before its n-th change of the file system, or with half of a content written:
 * KILL_STEP says n. Deno's own functions are replaced likewise. Everything else is node:fs as it is.
 */
import * as real from "node:fs";
import process from "node:process";

export * from "node:fs";

const killStep = Number(process.env["KILL_STEP"]);
let step = 0;

/** How many changes there were. */
export function changeCount(): number {
  return step;
}

export function isTime(): boolean {
  return step++ === killStep;
}

export function die(): void {
  Deno.kill(Deno.pid, "SIGKILL");
}

function killing<T extends (...args: never[]) => unknown>(call: T): T {
  return new Proxy(call, {
    apply(target, self, args) {
      if (isTime()) die();
      return Reflect.apply(target, self, args);
    },
  });
}

export const openSync = killing(real.openSync);
export const closeSync = killing(real.closeSync);
export const linkSync = killing(real.linkSync);
export const renameSync = killing(real.renameSync);
export const unlinkSync = killing(real.unlinkSync);
export const mkdirSync = killing(real.mkdirSync);
export const fchmodSync = killing(real.fchmodSync);
export const fdatasync = killing(real.fdatasync);
export const fdatasyncSync = killing(real.fdatasyncSync);
export const writeSync = killing(real.writeSync);
/** Two steps: nothing of it, and half of it. */
export const write = new Proxy(real.write, {
  apply(target, self, args: [number, Uint8Array, ...never[]]) {
    if (isTime()) die();
    const [descriptor, bytes] = args;
    if (isTime()) {
      real.writeSync(descriptor, bytes, 0, bytes.byteLength >> 1);
      die();
    }
    return Reflect.apply(target, self, args);
  },
});

Deno.mkdirSync = killing(Deno.mkdirSync);
Deno.renameSync = killing(Deno.renameSync);
Deno.removeSync = killing(Deno.removeSync);
Deno.remove = killing(Deno.remove);
Deno.openSync = killing(Deno.openSync);
