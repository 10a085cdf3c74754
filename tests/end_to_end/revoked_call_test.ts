/** What a revocation does to a call that runs, as docs/security.md says. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { inTime } from "../fixtures/until.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

Deno.test("the answer of a running call is cut off when its token is revoked, and the next call is refused", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url } });
  const flags = ["--data-dir", place.dataDir];
  const created = await runCommand(["token", "create", "--scope", "llm:generate", ...flags]);
  assert.equal(created.code, 0, created.stderr);
  const token = created.stdout.trim();
  const release = ollama.hold();
  const running = postMcp(server.url, toolCall("llm_generate", { prompt: "Tell me a story" }), { token });
  await ollama.until((requests) => requests.some(({ path }) => path === "/api/generate"));
  const id = /^pct_([0-9a-f]{32})_/.exec(token)?.[1] ?? "";
  const revoked = await runCommand(["token", "revoke", id, ...flags]);
  assert.equal(revoked.code, 0, revoked.stderr);
  const next = await postMcp(server.url, toolCall("llm_models", {}), { token });
  await next.body?.cancel();
  assert.equal(next.status, 401);
  const answer = await inTime("the answer to begin", running);
  const text = await inTime("the answer to be cut off", answer.text());
  assert.doesNotMatch(text, /isError/);
  release();
});

needing("flags").test(
  "a token revoked at the command line is refused from the next request on, others are not",
  async () => {
    await using place = await makeServerPlace();
    await using server = await startServer(place);
    const flags = ["--data-dir", place.dataDir];
    const tokens: string[] = [];
    for (let made = 0; made < 6; made++) {
      const { code, stdout, stderr } = await runCommand(["token", "create", "--scope", "files:read", ...flags]);
      assert.equal(code, 0, stderr);
      tokens.push(stdout.trim());
    }
    const statusOf = async (token: string): Promise<number> => {
      const answer = await postMcp(server.url, toolCall("file_list", {}), { token });
      await answer.body?.cancel();
      return answer.status;
    };
    const statuses = async (): Promise<number[]> => await Promise.all(tokens.map(statusOf));
    assert.deepEqual(await statuses(), tokens.map(() => 200));
    for (const [at, token] of tokens.entries()) {
      const id = /^pct_([0-9a-f]{32})_/.exec(token)?.[1] ?? "";
      assert.equal((await runCommand(["token", "revoke", id, ...flags])).code, 0);
      assert.equal(await statusOf(token), 401);
      assert.deepEqual(await statuses(), tokens.map((_, other) => other <= at ? 401 : 200));
    }
  },
);
