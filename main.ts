/** Portcullis: an MCP server with its own authorization server. This file hands the process's arguments to a command. */
import { run } from "./src/cli/mod.ts";

if (import.meta.main) Deno.exit(await run(Deno.args));
