/** The command line that starts this program again, for a client's configuration. */
import { fileURLToPath } from "node:url";
import { libraryFlag } from "../lib/library_paths.ts";
import { clientWords, npmPackageName } from "../lib/program_name.ts";

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

/** The command and its first arguments, for a client that starts it from another directory. */
export function thisProgram(): { readonly command: string; readonly args: readonly string[] } {
  const [command = "", ...args] = clientWords();
  if (Deno.build.standalone || args.at(-1) === npmPackageName) return { command, args };
  return { command, args: [...args, "run", ...sourceFlags, fileURLToPath(Deno.mainModule)] };
}
