/** Several who follow one task that another instance runs. */
import assert from "node:assert/strict";
import { systemTimers } from "../../src/lib/time.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import { mcpLimits } from "../../src/mcp/limits.ts";
import { createTasks, type TaskView } from "../../src/mcp/tasks.ts";
import { until } from "../fixtures/until.ts";
import { createMemoryStorage } from "./memory_storage.ts";

const principal = {
  subject: "owner",
  clientId: "client",
  tokenId: "t",
  keyId: null,
  grantId: "g",
  scopes: new Set<string>(),
  expiresAt: 1e15,
};

Deno.test("who looked a task up before another follower heard of its end hears of it too", async () => {
  const services = {
    storage: createMemoryStorage(),
    secretBox: createSecretBox(new Uint8Array(32)),
    clock: Date.now,
    timers: systemTimers,
    log: { write: (level: string) => void assert.notEqual(level, "error", "a look failed"), flush: () => {} },
    limits: mcpLimits,
  };
  const running = createTasks(services, () => {});
  const following = createTasks(services, () => {});
  const task = await running.begin(principal, { tool: "run", scopes: [] }, () => {});
  assert.ok(task);
  const looked = (await following.find(principal, task.seed.taskId))?.known ?? null;
  assert.ok(looked);

  const told: TaskView[] = [];
  const stopFirst = following.follow([looked], (view) => void told.push(view));
  await task.settle({ kind: "json", body: '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}' });
  await until("the first follower's notice", () => told.length === 1);
  const stopSecond = following.follow([looked], (view) => void told.push(view)); // looked up before the end, follows after it
  await until("the second follower's notice", () => told.length === 2);
  assert.deepEqual(told.map(({ status, result }) => [status, result]), [
    ["completed", { content: [] }],
    ["completed", { content: [] }],
  ]);
  stopFirst();
  stopSecond();
  await running.close();
  await following.close();
});
