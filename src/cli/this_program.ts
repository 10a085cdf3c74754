/** How this very program is started again, by somebody who knows nothing of it. */
import { fileURLToPath } from "node:url";

/** What the program needs when it runs from source; a compiled one has its permissions in it. */
const sourceFlags = ["--no-prompt", "--allow-net", "--allow-env", "--allow-read", "--allow-write", "--allow-sys"];

/** The command and its first arguments, by absolute paths. */
export function thisProgram(): { readonly command: string; readonly args: readonly string[] } {
  const command = Deno.execPath();
  if (Deno.build.standalone) return { command, args: [] };
  const main = fileURLToPath(Deno.mainModule);
  return { command, args: ["run", ...sourceFlags, main] };
}
