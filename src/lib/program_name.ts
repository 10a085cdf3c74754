/** What a person types to start this program. */
import { basename } from "node:path";

/** The compiled program's own file name; `main.ts` when it runs from source. */
export function programName(): string {
  if (!Deno.build.standalone) return "main.ts";
  return basename(Deno.execPath()).replace(/\.exe$/i, "");
}
