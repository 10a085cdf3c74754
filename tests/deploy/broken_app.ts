/** Portcullis as it runs on Deno Deploy, with a tool that tries to get out. */
import { writeSync } from "node:fs";
import process from "node:process";
import { serveOnDeploy } from "../../src/cli/commands/serve_on_deploy.ts";
import { loadConfig } from "../../src/config/config.ts";
import { attemptTool } from "../sandbox/attempt_tool.ts";
import { attempts } from "../sandbox/attempts.ts";

const config = loadConfig({ flags: {}, env: process.env, readFile: () => "" });
if (!config.ok) throw new Error(JSON.stringify(config.error));
const write = (fd: number) => (text: string): void => void writeSync(fd, text);
process.exit(
  await serveOnDeploy(config.value, { print: write(process.stdout.fd), say: write(process.stderr.fd) }, [
    attemptTool(attempts),
  ]),
);
