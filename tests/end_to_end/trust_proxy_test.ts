/** TRUST_PROXY on a server as it is started: whom rate limits and the audit take a request for. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

const atOwnListener = needing("own listener");

async function refusedToken(url: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(`${url}/mcp`, { method: "POST", headers: { authorization: "Bearer no", ...headers } });
  await response.body?.cancel();
  return response.status;
}

/** The addresses of the log's lines about refused tokens, once there are so many. */
async function loggedAddresses(server: RunningServer, count: number): Promise<unknown[]> {
  const lines = await until(`${count} lines about refused tokens`, () => {
    const found = server.stderr().split("\n").slice(0, -1).filter((line) => line.includes('"token_refused"'));
    return found.length >= count && found;
  });
  return lines.map((line) => JSON.parse(line).address);
}

async function health(url: string, client: string): Promise<number> {
  const response = await fetch(`${url}/health`, { headers: { "x-forwarded-for": client } });
  await response.body?.cancel();
  return response.status;
}

atOwnListener.test("behind a trusted proxy, each client has its own rate and its own address in the log", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, {
    env: { TRUST_PROXY: "127.0.0.0/8,::1" },
    bounds: { healthChecksPerMinute: 2 },
  });
  const statuses = [];
  for (const client of ["203.0.113.1", "203.0.113.1", "203.0.113.1", "203.0.113.2"]) {
    statuses.push(await health(server.url, client));
  }
  assert.deepEqual(statuses, [200, 200, 429, 200]);
  // A client that forges the header does not get past its own rate: the proxy adds its address to the right.
  assert.equal(await health(server.url, "198.51.100.1, 203.0.113.1"), 429);
  await refusedToken(server.url, { "x-forwarded-for": "6.6.6.6, 203.0.113.9" });
  await refusedToken(server.url, { "x-forwarded-for": "6.6.6.6, [2001:db8::9]:99" });
  assert.deepEqual(await loggedAddresses(server, 2), ["203.0.113.9", "2001:db8::9"]);
});

atOwnListener.test("headers from a peer that is no trusted proxy change nothing, and no header moves the issuer", async () => {
  for (const trust of ["", "10.0.0.0/8"]) {
    await using place = await makeServerPlace();
    await using server = await startServer(place, {
      env: { TRUST_PROXY: trust },
      bounds: { healthChecksPerMinute: 2 },
    });
    const statuses = [];
    for (const client of ["203.0.113.1", "203.0.113.2", "203.0.113.3"]) statuses.push(await health(server.url, client));
    assert.deepEqual(statuses, [200, 200, 429]);
    await refusedToken(server.url, { "x-forwarded-for": "6.6.6.6", forwarded: "for=6.6.6.6" });
    assert.deepEqual(await loggedAddresses(server, 1), ["127.0.0.1"]);
  }
  await using place = await makeServerPlace();
  await using trusting = await startServer(place, { env: { TRUST_PROXY: "1" } });
  const response = await fetch(`${trusting.url}/.well-known/oauth-authorization-server`, {
    headers: {
      "x-forwarded-for": "203.0.113.1",
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "https",
      forwarded: "for=203.0.113.1;host=evil.example;proto=https",
    },
  });
  const text = await response.text();
  assert.equal(JSON.parse(text).issuer, trusting.url);
  assert.ok(!text.includes("evil"));
});

atOwnListener.test("the start and doctor say when a proxy must be there and none is trusted", async () => {
  for (const [env, isTold] of [[{}, true], [{ TRUST_PROXY: "1" }, false]] as const) {
    const settings = {
      SERVER_URL: "https://mcp.example.com",
      DCR_AUTH_TOKEN: "Zk3vQ9sT1xW7uB5nY2rL8cJ4hF6gD0aE",
      ...env,
    };
    await using place = await makeServerPlace();
    await using server = await startServer(place, { env: settings });
    await server.stop();
    assert.equal(/"proxy_not_trusted".*TRUST_PROXY/.test(server.stderr()), isTold);
    const { stdout } = await runCommand(["doctor"], {
      env: { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, OLLAMA_HOST: "127.0.0.1:1", ...settings },
    });
    assert.equal(/^warn +proxy: .*\n +hint: .*TRUST_PROXY/m.test(stdout), isTold, stdout);
  }
});

Deno.test("TRUST_PROXY refuses what is neither a number of proxies nor networks", async () => {
  for (const value of ["0", "10", "yes", "10.0.0.1/8", "proxy.example"]) {
    const { code, stderr } = await runCommand(["serve"], { env: { TRUST_PROXY: value } });
    assert.equal(code, 2, value);
    assert.match(stderr, /TRUST_PROXY = .*number of proxies from 1 to 9, or their networks/);
  }
});
