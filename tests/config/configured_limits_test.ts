/** A bound's default stands in two places: the table of settings, and the part that tests and benches build alone. */
import assert from "node:assert/strict";
import { type Config, loadConfig } from "../../src/config/config.ts";
import * as configured from "../../src/composition/configured_limits.ts";
import { defaultMcpLimits } from "../../src/mcp/runtime.ts";
import { defaultEventStreamOptions } from "../../src/http/mcp_endpoint.ts";
import { defaultWorkspaceLimits } from "../../src/workspace/port.ts";

function configOf(env: Record<string, string>): Config {
  const config = loadConfig({ flags: {}, env, readFile: () => assert.fail("no file was named") });
  assert.ok(config.ok);
  return config.value;
}

Deno.test("with nothing set, every part has the bounds that it has by itself", () => {
  const config = configOf({});
  assert.deepEqual(configured.eventStreamOptionsOf(config), defaultEventStreamOptions);
  const { beginAnswerAfterMs: _, ...mcpLimits } = defaultMcpLimits; // which no setting changes
  assert.deepEqual(configured.mcpLimitsOf(config), mcpLimits);
  assert.deepEqual(configured.workspaceLimitsOf(config), defaultWorkspaceLimits);
});

Deno.test("settings reach the parts in their units", () => {
  const config = configOf({
    STREAM_KEEP_ALIVE: "20",
    TASK_LIFETIME: "60",
  });
  assert.equal(configured.eventStreamOptionsOf(config).keepAliveMs, 20_000);
  assert.equal(configured.mcpLimitsOf(config).taskTtlMs, 60_000);
});
