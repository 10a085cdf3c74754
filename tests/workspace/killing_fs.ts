/**
 * Has the process kill itself before its n-th change of the file system by node:fs or Deno, or with half of a content
 * written: KILL_STEP says n. The first module that is loaded.
 */
import fs from "node:fs";
import process from "node:process";

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

const { writeSync } = fs;
fs.openSync = killing(fs.openSync);
fs.closeSync = killing(fs.closeSync);
fs.linkSync = killing(fs.linkSync);
fs.renameSync = killing(fs.renameSync);
fs.unlinkSync = killing(fs.unlinkSync);
fs.mkdirSync = killing(fs.mkdirSync);
fs.fchmodSync = killing(fs.fchmodSync);
fs.fdatasync = killing(fs.fdatasync);
fs.fdatasyncSync = killing(fs.fdatasyncSync);
fs.writeSync = killing(fs.writeSync);
/** Two steps: nothing of it, and half of it. */
fs.write = new Proxy(fs.write, {
  apply(target, self, args: [number, Uint8Array, ...never[]]) {
    if (isTime()) die();
    const [descriptor, bytes] = args;
    if (isTime()) {
      writeSync(descriptor, bytes, 0, bytes.byteLength >> 1);
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
