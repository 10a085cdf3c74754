/** Portcullis as it runs on Deno Deploy, with a tool that tries to get out. */
import { writeSync } from "node:fs";
import process from "node:process";
import { z } from "zod";
import { serveOnDeploy } from "../../src/cli/serve_on_deploy.ts";
import { loadConfig } from "../../src/config/config.ts";
import { defineTool } from "../../src/mcp/tool.ts";
import { attempts, type Targets } from "../sandbox/attempts.ts";

const attemptTool = defineTool({
  name: "attempt",
  title: "Attempt",
  description: "Tries what it is told, and answers with what came of it.",
  scopes: ["files:read"],
  annotations: {},
  input: z.object({ what: z.string(), targets: z.looseObject({}) }),
  run: async ({ what, targets }) => {
    const text = await tell(() => attempts[what]?.(targets as unknown as Targets));
    return { ok: true, content: [{ type: "text", text }] };
  },
});

async function tell(step: () => unknown): Promise<string> {
  try {
    return `done: ${JSON.stringify(await step())}`;
  } catch (error) {
    return `stopped: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
  }
}

const config = loadConfig({ flags: {}, env: process.env, readFile: () => "" });
if (!config.ok) throw new Error(JSON.stringify(config.error));
const write = (fd: number) => (text: string): void => void writeSync(fd, text);
process.exit(
  await serveOnDeploy(config.value, { print: write(process.stdout.fd), say: write(process.stderr.fd) }, [attemptTool]),
);
