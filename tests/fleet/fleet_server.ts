/** Portcullis with the tools of {@link ./fleet_worker.ts}, started as `serve` starts it. */
import { readFileSync } from "node:fs";
import process from "node:process";
import { serve } from "../../src/cli/serve_command.ts";
import { loadConfig } from "../../src/app/config/config.ts";
import { writeTo } from "../fixtures/write_to.ts";

process.exit(
  await serve({
    loadConfig: () =>
      loadConfig({ flags: { port: "0" }, env: process.env, readFile: (path) => readFileSync(path, "utf8") }),
    print: writeTo(process.stdout.fd),
    say: writeTo(process.stderr.fd),
  }, new URL("./fleet_worker.ts", import.meta.url)),
);
