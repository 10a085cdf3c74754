/** Where the module of the server's worker lies: beside this file in the sources, beside the program in a bundle. */

/** Its URL. */
export function serverWorkerUrl(): URL {
  return new URL(import.meta.url.endsWith(".ts") ? "./server_worker.ts" : "./server_worker.js", import.meta.url);
}
