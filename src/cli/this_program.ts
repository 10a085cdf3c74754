/** The command line that starts this program again, for a client's configuration. */
import { fileURLToPath } from "node:url";
import { libraryFlag } from "../lib/library_paths.ts";

/** From source; a compiled program carries its permissions. */
const sourceFlags = [
  "--no-prompt",
  "--allow-net",
  "--allow-env",
  "--allow-read",
  "--allow-write",
  "--allow-sys",
  libraryFlag,
];

/** The command and its first arguments, as absolute paths. */
export function thisProgram(): { readonly command: string; readonly args: readonly string[] } {
  const command = Deno.execPath();
  if (Deno.build.standalone) return { command, args: [] };
  const main = fileURLToPath(Deno.mainModule);
  return { command, args: ["run", ...sourceFlags, main] };
}
