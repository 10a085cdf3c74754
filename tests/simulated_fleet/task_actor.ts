/** Tasks under faults: begun, polled, answered and cancelled at any instance; their end is final. */
import { isDeepStrictEqual } from "node:util";
import { Actor, type RpcReply } from "./actors.ts";
import type { Fleet } from "./fleet.ts";
import { limits } from "./instance.ts";

const terminal = new Set(["completed", "failed", "cancelled"]);
const lifetimeMs = limits.taskLifetimeSeconds * 1_000;

/** One client with several tasks at once, until the fleet ends and its tasks have. */
export async function runTaskActor(fleet: Fleet, number: number, accessToken: string): Promise<void> {
  const actor = new Actor(fleet, `tasks ${number}`, number);
  const { random, fleet: { time } } = actor;

  const follow = async (taskId: string, text: string, begunAt: number): Promise<void> => {
    let end: unknown = null;
    let looksAfterEnd = 3 + random.int(4);
    for (;;) {
      await actor.sleep(200 + random.int(6_000));
      if (end === null && random.chance(0.05)) {
        await actor.call(accessToken, "tasks/cancel", { taskId });
        actor.did("cancelled");
      }
      const reply = await actor.call(accessToken, "tasks/get", { taskId });
      if (reply === null || reply.status === 429) continue;
      const age = time.now - begunAt;
      const areClocksRight = fleet.clocksRightSince(begunAt);
      if (reply.error !== undefined || reply.status !== 200) {
        // The record expires by the clock of the instance that is asked.
        if (areClocksRight && age < lifetimeMs - 120_000) {
          actor.violate(`an acknowledged task is lost: ${JSON.stringify(reply)}`);
        }
        if (age < lifetimeMs) continue;
        actor.did("expired");
        return;
      }
      const { status, result, error, inputRequests } = reply.result;
      if (status === "input_required" && random.chance(0.8)) await answer(taskId, inputRequests);
      if (terminal.has(status)) {
        const seen = { status, result, error };
        if (end !== null && !isDeepStrictEqual(seen, end)) {
          actor.violate(`a task's end changed from ${JSON.stringify(end)} to ${JSON.stringify(seen)}`);
        }
        if (end === null) actor.did(`ended ${status}`);
        if (status === "completed" && result?.content?.[0]?.text !== text) {
          actor.violate(`a wrong result: ${JSON.stringify(result)}`);
        }
        end = seen;
        if (looksAfterEnd-- === 0) return;
      } else if (end !== null) actor.violate(`a task that was ${JSON.stringify(end)} is ${status}`);
      else if (areClocksRight && age > lifetimeMs + 240_000) actor.violate("a task never ends");
    }
  };
  const answer = (taskId: string, questions: Record<string, unknown>): Promise<RpcReply | null> => {
    const inputResponses = Object.fromEntries(
      Object.keys(questions).map((key) => [key, { action: "accept", content: {} }]),
    );
    return actor.call(accessToken, "tasks/update", { taskId, inputResponses });
  };

  let number_ = 0;
  const followed: Promise<void>[] = [];
  await actor.live(async () => {
    const text = `${actor.name} ${number_++}`;
    const work = {
      milliseconds: 500 + random.int(random.chance(0.5) ? 90_000 : 8_000),
      text,
      asks: random.chance(0.3),
    };
    const begunAt = time.now;
    const reply = await actor.call(accessToken, "tools/call", { name: "work", arguments: work });
    if (reply?.result?.resultType !== "task") {
      actor.did(reply?.result?.isError ? "refused" : `not begun ${reply?.status ?? ""}`);
      return;
    }
    actor.did("begun");
    followed.push(follow(reply.result.taskId, text, begunAt));
    await actor.sleep(random.int(20_000));
  });
  await Promise.all(followed);
}

/** Once all is quiet, as many tasks as ever can begin at each instance: nothing is still taken. */
export async function requireFreeSlots(fleet: Fleet, accessToken: string): Promise<void> {
  const actor = new Actor(fleet, "slots 1", 99);
  for (const slot of fleet.running) {
    for (let count = 0; count < limits.tasksPerUser; count++) {
      const work = { milliseconds: 20_000, text: "slot", asks: false };
      const reply = await actor.call(accessToken, "tools/call", { name: "work", arguments: work }, slot);
      if (reply?.result?.resultType !== "task") {
        actor.violate(`instance ${slot.index} has no place for task ${count}: ${JSON.stringify(reply)}`);
        return;
      }
    }
  }
}
