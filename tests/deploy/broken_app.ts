/** Portcullis as it runs on Deno Deploy, with a tool that tries to get out. */
import process from "node:process";
import { serveOnDeploy } from "../../src/cli/serve_on_deploy_command.ts";
import { loadConfig } from "../../src/app/config/config.ts";
import { writeTo } from "../fixtures/write_to.ts";
import { attemptTool } from "../sandbox/attempt_tool.ts";
import { attempts } from "../sandbox/attempts.ts";

const config = loadConfig({ flags: {}, env: process.env, readFile: () => "" });
if (!config.ok) throw new Error(JSON.stringify(config.error));
process.exit(
  await serveOnDeploy(config.value, { print: writeTo(process.stdout.fd), say: writeTo(process.stderr.fd) }, [
    attemptTool(attempts),
  ]),
);
