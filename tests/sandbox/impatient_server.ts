/** The workers of {@link ./broken_worker.ts}, restarted with short pauses and not for long; prints how it ends. */
import { writeSync } from "node:fs";
import process from "node:process";
import { loadConfig } from "../../src/app/config/config.ts";
import { systemTimers } from "../../src/lib/time.ts";
import { startSandboxedWorkers } from "../../src/app/sandboxed_workers.ts";
import { stderrLog } from "../../src/app/stdio_app.ts";
import { writeTo } from "../fixtures/write_to.ts";

const loaded = loadConfig({ flags: {}, env: process.env, readFile: () => "" });
if (!loaded.ok) throw new Error(JSON.stringify(loaded.error));
const writeLog = writeTo(process.stderr.fd);
const server = startSandboxedWorkers(loaded.value, new URL("./broken_worker.ts", import.meta.url), {
  log: stderrLog(loaded.value.server, writeLog),
  writeLog,
  clock: systemTimers.elapsed,
  policy: { firstPauseMs: 1, longestPauseMs: 4, steadyMs: 600_000, maxQuickEnds: 4 },
});
const started = await server.started;
if (started.kind === "ready") writeSync(process.stdout.fd, `portcullis listening on ${started.serverUrl}\n`);
writeSync(process.stdout.fd, `${JSON.stringify(await server.ended)}\n`);
process.exit(0);
