/** A worker that saves a file as editors do (a new one beside it, renamed over it), until its directory is gone. */
const path = new URL(import.meta.url).searchParams.get("path") ?? "";
try {
  for (let version = 0;; version++) {
    Deno.writeTextFileSync(`${path}.tmp`, `${version}`);
    Deno.renameSync(`${path}.tmp`, path);
  }
} catch (error) {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
(globalThis as unknown as Pick<Worker, "postMessage">).postMessage("ended");
