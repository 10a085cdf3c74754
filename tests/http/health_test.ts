/** Health, readiness and liveness of a server as it is started, and of a storage that is lost. */
import assert from "node:assert/strict";
import { createHealthEndpoints } from "../../src/http/health.ts";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

async function ask(url: string, method = "GET"): Promise<[number, unknown]> {
  const response = await fetch(url, { method });
  const text = await response.text();
  return [response.status, text === "" ? null : JSON.parse(text)];
}

Deno.test("/health, /health/live and /health/ready answer 200 while all is well, and 405 to other methods", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const [status, health] = await ask(`${server.url}/health`);
  assert.deepEqual([status, Object.keys(health as object)], [200, ["status", "version", "storage", "workspace"]]);
  assert.deepEqual(await ask(`${server.url}/health/live`), [200, { status: "live" }]);
  assert.deepEqual(await ask(`${server.url}/health/ready`), [200, { status: "ready" }]);
  for (const path of ["/health", "/health/live", "/health/ready"]) {
    assert.deepEqual(await ask(server.url + path, "POST"), [405, null]);
    assert.deepEqual(await ask(server.url + path, "HEAD"), [200, null]);
  }
});

Deno.test("without its storage a server is alive, but neither ready nor well", async () => {
  const options = {
    version: "1",
    probeStorage: () => Promise.reject(new Error("postgres://secret")),
    isWorkspaceThere: () => Promise.resolve(true),
    isDraining: () => false,
  };
  const peer = { address: "127.0.0.1" };
  const endpoints = createHealthEndpoints(options);
  const answers = [endpoints.health, endpoints.live, endpoints.ready];
  const [health, live, ready] = await Promise.all(
    answers.map(async (endpoint) => await endpoint(new Request("http://localhost/"), peer)),
  );
  assert.deepEqual([health?.status, live?.status, ready?.status], [503, 200, 503]);
  assert.deepEqual(await health?.json(), {
    status: "unavailable",
    version: "1",
    storage: "unreachable",
    workspace: "reachable",
  });
  assert.deepEqual(await ready?.json(), { status: "storage_unreachable" });
  await live?.body?.cancel();
});

const onDisk = needing("workspace directory");
for (const sharing of ["shared", "per-user", "named"]) {
  onDisk.test(`while its workspace (${sharing}) is gone or another is in its place a server is not ready`, async () => {
    await using place = await makeServerPlace();
    const isNamed = sharing === "named";
    if (isNamed) await Deno.mkdir(place.workspaceDir, { recursive: true });
    const env = isNamed ? { WORKSPACE_DIR: `notes=${place.workspaceDir}` } : { WORKSPACES: sharing };
    await using server = await startServer(place, { env });
    const words = ["token", "create", "--scope", "files:write", "--data-dir", server.dataDir];
    const token = (await runCommand(words)).stdout.trim();
    await (await postMcp(server.url, toolCall("file_write", { filename: isNamed ? "notes/f" : "f", content: "" }), {
      token,
    })).text();
    const healthOf = async () => [await ask(`${server.url}/health`), await ask(`${server.url}/health/ready`)] as const;
    assert.equal((await healthOf())[0][0], 200);
    const aside = `${server.workspaceDir}.aside`;
    await Deno.rename(server.workspaceDir, aside);
    const [health, ready] = await healthOf();
    assert.deepEqual([health[0], (health[1] as { workspace?: string }).workspace], [503, "unreachable"]);
    assert.deepEqual(ready, [503, { status: "workspace_unreachable" }]);
    await Deno.mkdir(server.workspaceDir);
    if (!isNamed) assert.equal((await healthOf())[1][0], 503); // that may be mounted there
    assert.deepEqual(await ask(`${server.url}/health/live`), [200, { status: "live" }]);
    await Deno.remove(server.workspaceDir);
    await Deno.rename(aside, server.workspaceDir);
    assert.equal((await healthOf())[0][0], 200);
  });
}
