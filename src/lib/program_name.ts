/** What a person types to start this program. Without Node's modules, which take longer to load than help to print. */

/** The words before the command: the compiled program as it was called, or Deno and the source's path. */
export function programName(): string {
  if (!Deno.build.standalone) return `deno run -A ${shownSource(Deno.mainModule)}`;
  return globalThis.process.argv0.replace(/^.*[/\\]/, "").replace(/\.exe$/i, "");
}

/** Relative where that leads down from the working directory. */
function shownSource(module: string): string {
  if (!module.startsWith("file:")) return module;
  const isWindows = Deno.build.os === "windows";
  const path = decodeURIComponent(new URL(module).pathname).slice(isWindows ? 1 : 0);
  const here = isWindows ? Deno.cwd().replaceAll("\\", "/") : Deno.cwd();
  return path.startsWith(`${here}/`) ? path.slice(here.length + 1) : path;
}
