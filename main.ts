/** Portcullis: an MCP server with its own authorization server. This file turns arguments into a command. */
import process from "node:process";

process.stdout.write("portcullis\n");
