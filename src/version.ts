/** The version of this build, as deno.json has it. */
import manifest from "../deno.json" with { type: "json" };

/** Semantic version, for `--version`, `serverInfo` and `/health`. */
export const version: string = manifest.version;
