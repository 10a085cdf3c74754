/** Prints whether PATH leads into DIRECTORY. */
import { lookAtPath } from "../../src/config/look_at_path.ts";
import { leadsInto } from "../../src/config/overlap.ts";

const [path = "", directory = ""] = Deno.args;
Deno.stdout.writeSync(new TextEncoder().encode(`${leadsInto(path, directory, lookAtPath)}\n`));
