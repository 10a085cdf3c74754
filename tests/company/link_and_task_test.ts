/** A link to a file, and the way to a task, end at the started server with the person at the provider. */
import assert from "node:assert/strict";
import { openBrowser } from "../authorization_server/harness.ts";
import { providerClient, startCompanyProvider } from "../fixtures/company_provider/provider.ts";
import { modernRequest, postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { connect, type Place } from "./place.ts";

const minute = 60_000;

/** Ada's client, with a link to her file and a task that has the model at work. */
async function startWithAda() {
  await using started = new AsyncDisposableStack();
  const provider = started.use(await startCompanyProvider());
  const ollama = started.use(await startOllama({ models: [{ name: "tinyllama" }] }));
  const place = started.use(await makeServerPlace());
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  await Deno.writeTextFile(`${place.workspaceDir}/a.txt`, "a");
  const server = started.use(
    await startServer(place, {
      program: "tests/fixtures/later_server.ts",
      args: [],
      env: {
        PORT: "0",
        OLLAMA_HOST: ollama.url,
        OIDC_ISSUER: provider.issuer,
        OIDC_CLIENT_ID: providerClient.id,
        OIDC_CLIENT_SECRET: providerClient.secret,
        OIDC_ALLOW: "*",
        OIDC_RECHECK: "1m",
        WORKSPACES: "shared",
      },
    }),
  );
  provider.employ("ada", { name: "Ada Lovelace" });
  provider.signIn("ada");
  const harness = {
    fetch: (path: string, init: RequestInit = {}) => fetch(server.url + path, { ...init, redirect: "manual" }),
  } as Place["harness"];
  const scope = "files:read files:write llm:generate";
  const { accessToken: token } = await connect({ provider, harness } as Place, {
    browser: openBrowser(harness),
    scope,
  });
  const call = async (name: string, input: Record<string, unknown>) =>
    (await (await postMcp(server.url, toolCall(name, input), { token })).json())["result"] as {
      readonly structuredContent: Readonly<Record<string, unknown>>;
    };
  const link = String((await call("file_read", { filename: "a.txt", link: true })).structuredContent["url"]);
  const release = ollama.hold();
  const askTask = async (method: string, params: Record<string, unknown>) => {
    const { message, headers } = modernRequest(method, params);
    const { _meta } = message["params"] as { _meta: Record<string, unknown> };
    _meta["io.modelcontextprotocol/clientCapabilities"] = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    const named = typeof params["taskId"] === "string" ? { "mcp-name": params["taskId"] } : {};
    return await postMcp(server.url, message, { token, headers: { ...headers, ...named } });
  };
  const begun = await askTask("tools/call", {
    name: "llm_generate",
    arguments: { prompt: "speak", max_tokens: 2_000 },
  });
  const taskId = String((await begun.json() as { result: { taskId: string } }).result.taskId);
  await ollama.until((requests) => requests.some(({ path }) => path === "/api/generate"));
  const kept = started.move();
  return {
    provider,
    server,
    /** The status of a request for the file, and of one for the task. */
    async statusOfLink() {
      const answer = await fetch(link, { method: "HEAD" }); // which does not use it up
      await answer.body?.cancel();
      return answer.status;
    },
    async statusOfTask() {
      const answer = await askTask("tasks/get", { taskId });
      await answer.body?.cancel();
      return answer.status;
    },
    /** What became of the request to the model. */
    ofModel: () => ollama.requests.find(({ path }) => path === "/api/generate")?.outcome,
    putForward: (milliseconds: number) => call("put_forward", { milliseconds }),
    async [Symbol.asyncDispose]() {
      release();
      await kept.disposeAsync();
    },
  };
}

for (const first of ["statusOfLink", "statusOfTask"] as const) {
  Deno.test(`the first use after OIDC_RECHECK asks the provider, and ends with the person: ${first}`, async () => {
    await using ada = await startWithAda();
    const { provider } = ada;
    assert.deepEqual([await ada.statusOfLink(), await ada.statusOfTask()], [200, 200]);
    provider.employ("ada", { disabled: true });
    assert.deepEqual([await ada.statusOfLink(), await ada.statusOfTask()], [200, 200], "it is not due yet");
    await ada.putForward(2 * minute);
    assert.ok(await ada[first]() >= 400);
    assert.ok(await ada.statusOfLink() >= 400, "the link is over");
    assert.equal(await ada.statusOfTask(), 401);
  });
}

Deno.test("a logout at the provider ends a link, the way to a task and the task's work at once", async () => {
  await using ada = await startWithAda();
  const said = await fetch(`${ada.server.url}/oauth/backchannel-logout`, {
    method: "POST",
    body: new URLSearchParams({ logout_token: await ada.provider.logoutToken({ sub: "ada" }) }),
  });
  await said.body?.cancel();
  assert.equal(said.status, 200);
  await until("the link is over", async () => await ada.statusOfLink() >= 400 ? true : null);
  assert.equal(await ada.statusOfTask(), 401);
  await until("the model is asked for nothing any more", () => ada.ofModel() === "aborted");
});
