/** The actor whose calls outlive their connection: tasks of a slow model, which a kill may fail but never loses. */
import assert from "node:assert/strict";
import { type Actor, persist, type Stage } from "./actor.ts";
import { postModern } from "./mcp.ts";

/** Begins tasks and looks at them until they have ended, and after that. */
export function createTasksActor(name: string, { server, random, count }: Stage, token: string): Actor {
  const open = new Set<string>();
  /** How each ended task read when its end was first seen. */
  const ended = new Map<string, string>();

  const begin = async (): Promise<void> => {
    const prompt = `Say ${Array.from({ length: 1 + random.int(30) }, () => random.int(1_000)).join(" ")}`;
    const params = { name: "llm_generate", arguments: { prompt, max_tokens: 2_000 } };
    const { status, result, error } = await postModern(server, token, "tools/call", params);
    assert.equal(status, 200, JSON.stringify(error));
    if (result?.["resultType"] !== "task") {
      // The places for generations may all be taken by tasks that wait; then it is the refusal that comes at once.
      assert.equal(result?.["isError"], true, JSON.stringify(result));
      return count("task refused");
    }
    open.add(String(result["taskId"]));
    count("task begun");
  };
  const look = async (taskId: string): Promise<Record<string, unknown>> => {
    const { status, result, error } = await persist(() => postModern(server, token, "tasks/get", { taskId }));
    assert.equal(status, 200, `an acknowledged task is gone: ${JSON.stringify(error)}`);
    return result ?? {};
  };
  const follow = async (taskId: string): Promise<void> => {
    const task = await look(taskId);
    if (task["status"] === "working") return;
    assert.ok(["completed", "failed"].includes(String(task["status"])), JSON.stringify(task));
    open.delete(taskId);
    ended.set(taskId, JSON.stringify(task));
    count(`task ${task["status"]}`);
  };
  const requireSame = async ([taskId, text]: readonly [string, string]): Promise<void> =>
    assert.equal(JSON.stringify(await look(taskId)), text, "the end of a task never changes");

  return {
    name,
    async step() {
      if (open.size < 3) return await begin();
      await follow(random.pick([...open]));
      if (ended.size > 0) await requireSame(random.pick([...ended]));
    },
    rest: () => Promise.resolve(),
    async audit() {
      for (const taskId of open) await look(taskId);
      for (const end of ended) await requireSame(end);
    },
  };
}
