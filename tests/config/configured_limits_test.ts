/** A bound's default stands in two places: the table of settings, and the part that tests and benches build alone. */
import assert from "node:assert/strict";
import { maxAccessTokenLifetimeSeconds } from "../../src/authorization_server/token/access_token.ts";
import { defaultLifetimes, defaultLimits } from "../../src/authorization_server/context.ts";
import { defaultDocumentLimits } from "../../src/authorization_server/documents/document_fetcher.ts";
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
  assert.deepEqual(configured.lifetimesOf(config), defaultLifetimes);
  assert.deepEqual(configured.authorizationLimitsOf(config), defaultLimits);
  assert.deepEqual(configured.documentLimitsOf(config), defaultDocumentLimits);
  assert.deepEqual(configured.eventStreamOptionsOf(config), defaultEventStreamOptions);
  const { beginAnswerAfterMs: _, ...mcpLimits } = defaultMcpLimits; // which no setting changes
  assert.deepEqual(configured.mcpLimitsOf(config), mcpLimits);
  assert.deepEqual(configured.workspaceLimitsOf(config), defaultWorkspaceLimits);
});

Deno.test("settings reach the parts in their units", () => {
  const config = configOf({
    STREAM_KEEP_ALIVE: "20",
    TASK_LIFETIME: "60",
    CLIENT_KEYS_RETRY: "30",
    KNOWN_BROWSER_LIFETIME: "60",
  });
  assert.equal(configured.eventStreamOptionsOf(config).keepAliveMs, 20_000);
  assert.equal(configured.mcpLimitsOf(config).taskTtlMs, 60_000);
  assert.equal(configured.authorizationLimitsOf(config).clientCaches.keySetRetrySeconds, 30);
  assert.equal(configured.lifetimesOf(config).knownBrowserLifetimeSeconds, 60);
});

Deno.test("ACCESS_TOKEN_LIFETIME is bounded by the longest life that the verifier accepts", () => {
  assert.equal(
    configured.lifetimesOf(configOf({ ACCESS_TOKEN_LIFETIME: String(maxAccessTokenLifetimeSeconds) }))
      .accessTokenLifetimeSeconds,
    maxAccessTokenLifetimeSeconds,
  );
  const longer = { ACCESS_TOKEN_LIFETIME: String(maxAccessTokenLifetimeSeconds + 1) };
  assert.ok(!loadConfig({ flags: {}, env: longer, readFile: () => "" }).ok);
});
