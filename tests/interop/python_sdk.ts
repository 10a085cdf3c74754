/** The official Python SDK gives a call up: the call is cancelled, and its stream is not asked for again and again. */
import assert from "node:assert/strict";
import { until } from "../fixtures/until.ts";
import { createHarness, harnessTools } from "../mcp/harness.ts";
import { createToolRegistry } from "../../src/mcp/tool_registry.ts";
import { ClientNotInstalled } from "./npm_client.ts";
import { serveHarness } from "./serve_harness.ts";

const packages = ["mcp==2.3.0"];

/** A Python with the SDK, in a directory of its own. */
async function installSdk(directory: string): Promise<string> {
  const run = async (program: string, args: readonly string[]): Promise<string | null> => {
    const command = new Deno.Command("timeout", { args: ["300", program, ...args], stdout: "null", stderr: "piped" });
    const { success, stderr } = await command.output();
    return success ? null : new TextDecoder().decode(stderr).trim().split("\n").at(-1) ?? "failed";
  };
  const failure = await run("python3", ["-m", "venv", directory]) ??
    await run(`${directory}/bin/pip`, ["install", "--quiet", "--retries", "1", ...packages]);
  if (failure !== null) throw new ClientNotInstalled(`pip install ${packages.join(" ")}: ${failure}`);
  return `${directory}/bin/python`;
}

/** Runs the client in each era. */
export async function tryPythonSdk(): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-python-" });
  try {
    const python = await installSdk(directory);
    for (const mode of ["auto", "legacy"]) {
      const harness = createHarness({ tools: createToolRegistry(harnessTools()), limits: { toolTimeoutMs: 60_000 } });
      const server = serveHarness(harness);
      try {
        const script = new URL("python_client.py", import.meta.url).pathname;
        const output = new Deno.Command("timeout", {
          args: ["60", python, script, server.url.href, "all-scopes", mode],
          stdout: "piped",
          stderr: "piped",
        }).output();
        await until("the cancellation", () => harness.audit.some(({ outcome }) => outcome === "cancelled"));
        const { stdout, stderr } = await output;
        const said = new TextDecoder().decode(stdout);
        assert.match(said, /given up True\nechoed after\n/, `${mode}\n${said}${new TextDecoder().decode(stderr)}`);
        assert.ok(server.resumed.length <= 2, `${mode}: ${server.resumed.join(" ")}`);
      } finally {
        await server.close();
      }
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
