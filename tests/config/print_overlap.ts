/** Prints whether PATH leads into DIRECTORY. */
import { leadsInto, lookAtPath } from "../../src/app/config/directories.ts";

const [path = "", directory = ""] = Deno.args;
Deno.stdout.writeSync(new TextEncoder().encode(`${leadsInto(path, directory, lookAtPath)}\n`));
