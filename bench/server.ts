/** Portcullis as `serve` starts it, with one trivial tool more: `echo` shows what a call costs without any work. */
import { readFileSync, writeSync } from "node:fs";
import process from "node:process";
import { serve } from "../src/cli/serve.ts";
import { loadConfig } from "../src/config/config.ts";

process.exit(
  await serve({
    words: [],
    flags: {},
    loadConfig: () => loadConfig({ flags: {}, env: process.env, readFile: (path) => readFileSync(path, "utf8") }),
    print: (text) => void writeSync(process.stdout.fd, text),
    say: (text) => void writeSync(process.stderr.fd, text),
  }, new URL("./server_worker.ts", import.meta.url)),
);
