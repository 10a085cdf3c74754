/** The version of this build, as deno.json has it. */
import manifest from "../../deno.json" with { type: "json" };

/** Semantic version, for `--version`, `serverInfo` and `/health`. */
export const version: string = manifest.version;

/** `deno task compile` writes the commit over this text; it stays as it is when the program runs from source. */
const stamp = "@PORTCULLIS_COMMIT@";

/** The version, and the commit when this is a built program. */
export const versionText: string = /^[0-9a-f]{7,40}$/.test(stamp) ? `${version} (${stamp})` : version;
