/** Several who follow one task that another instance runs. */
import assert from "node:assert/strict";
import { createTaskFollowers, visibleState } from "../../src/mcp/tasks.ts";
import { createTaskStore, newTaskRecord, type TaskRecord, toTaskView } from "../../src/mcp/task_store.ts";
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
  const storage = createMemoryStorage();
  const store = createTaskStore(storage, Date.now);
  const published: TaskRecord[] = [];
  const log = { write: () => assert.fail("a look failed"), flush: () => {} };
  const followers = createTaskFollowers({ storage, store, log, publish: (record) => void published.push(record) });
  const limits = { now: Date.now(), taskTtlMs: 60_000, taskPollIntervalMs: 1_000 };
  const working = newTaskRecord(principal, { tool: "run", scopes: [] }, limits);
  await store.create(working);
  const known = visibleState(toTaskView(working));

  const stopFirst = followers.follow(working.taskId, known);
  const ended: TaskRecord = { ...working, status: "completed", result: {}, lastUpdatedAt: working.lastUpdatedAt + 1 };
  await store.save(ended);
  await until("the first follower's notice", () => published.length === 1);
  const stopSecond = followers.follow(working.taskId, known); // looked up before the end, follows after it
  await until("the second follower's notice", () => published.length === 2);
  assert.deepEqual(published.map(({ status }) => status), ["completed", "completed"]);
  stopFirst();
  stopSecond();
});
