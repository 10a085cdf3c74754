/** What a person types to start this program. */
import { basename, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The words before the command: the compiled program as it was called, or Deno and the source's path. */
export function programName(): string {
  if (!Deno.build.standalone) return `deno run -A ${shownSource(Deno.mainModule)}`;
  // Not imported: loading the module costs a start more than everything else, and most starts print no name.
  return basename(globalThis.process.argv0).replace(/\.exe$/i, "");
}

/** Relative where that leads down from the working directory. */
function shownSource(module: string): string {
  if (!module.startsWith("file:")) return module;
  const path = fileURLToPath(module);
  const fromHere = relative(Deno.cwd(), path);
  return fromHere === "" || fromHere.startsWith("..") ? path : fromHere;
}
