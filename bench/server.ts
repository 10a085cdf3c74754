/** Portcullis as `serve` starts it, with one trivial tool more: `echo` shows what a call costs without any work. */
import { readFileSync, writeSync } from "node:fs";
import process from "node:process";
import { z } from "zod";
import { serve } from "../src/cli/serve.ts";
import { loadConfig } from "../src/config/config.ts";
import { defineTool } from "../src/mcp/tool.ts";

const echo = defineTool({
  name: "echo",
  title: "Echo",
  description: "Answers with the text it was given.",
  scopes: ["files:read"],
  annotations: { readOnlyHint: true },
  input: z.object({ text: z.string().describe("What to answer with") }),
  run: ({ text }) => ({ ok: true, content: [{ type: "text", text }] }),
});

process.exit(
  await serve({
    words: [],
    flags: {},
    loadConfig: () => loadConfig({ flags: {}, env: process.env, readFile: (path) => readFileSync(path, "utf8") }),
    print: (text) => void writeSync(process.stdout.fd, text),
    say: (text) => void writeSync(process.stderr.fd, text),
  }, [echo]),
);
