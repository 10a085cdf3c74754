/** Portcullis: an MCP server with its own authorization server. This file hands the process's arguments to a command. */
import process from "node:process";
import { run } from "./src/cli/run.ts";

if (import.meta.main) process.exit(await run(Deno.args));
