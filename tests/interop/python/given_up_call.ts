/** The official Python SDK gives a call up: the call is cancelled, and its stream is not asked for again and again. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { until } from "../../fixtures/until.ts";
import { createHarness, harnessTools } from "../../mcp/harness.ts";
import { createToolRegistry } from "../../../src/mcp/registry.ts";
import { serveHarness } from "../serve_harness.ts";
import { installFromPypi } from "./install_from_pypi.ts";

/** Runs the client in each era. */
export async function giveUpCall(packages: readonly string[]): Promise<void> {
  await using stack = new globalThis.AsyncDisposableStack();
  const python = await installFromPypi(stack, packages);
  for (const mode of ["auto", "legacy"]) {
    const harness = createHarness({
      tools: createToolRegistry(harnessTools()),
      toolTimeoutMs: 60_000,
      limits: { beginAnswerAfterMs: 250 },
    });
    const server = serveHarness(harness);
    try {
      const script = fileURLToPath(new URL("given_up_call.py", import.meta.url));
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
}
