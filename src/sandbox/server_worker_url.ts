/** Where the module of the server's worker lies: beside this file in the sources, below the program in a bundle. */

export function serverWorkerUrl(): URL {
  const path = import.meta.url.endsWith(".ts") ? "./server_worker.ts" : "./src/sandbox/server_worker.js";
  return new URL(path, import.meta.url);
}
