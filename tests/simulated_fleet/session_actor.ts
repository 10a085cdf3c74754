/** Legacy sessions: begun at one instance, used at all, and dead everywhere once their end was acknowledged. */
import { Actor, legacyCall, parseRpc, post } from "./actors.ts";
import type { Fleet } from "./fleet.ts";

/** Sessions one after the other, until the fleet ends. */
export function runSessionActor(fleet: Fleet, number: number, accessToken: string): Promise<void> {
  const actor = new Actor(fleet, `sessions ${number}`, number);
  const { random, fleet: { time } } = actor;
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "fleet", version: "1" } },
  };
  return actor.live(async () => {
    const begunAt = time.now;
    const begun = await actor.request("/mcp", post(accessToken, initialize));
    const id = begun?.headers.get("mcp-session-id") ?? null;
    if (begun?.status !== 200 || id === null) return;
    actor.did("begun");
    const headers = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
    for (let step = random.int(4); step >= 0; step--) {
      await actor.sleep(random.int(8_000));
      const reply = await actor.request("/mcp", post(accessToken, legacyCall("echo", { text: `${step}` }), headers));
      if (reply === null || reply.status === 503 || reply.status === 429) continue;
      if (reply.status === 404 && fleet.clocksRightSince(begunAt)) actor.violate("a session is not found");
      if (reply.status === 200 && parseRpc(reply.text).result?.content?.[0]?.text !== `${step}`) {
        actor.did("refused by the limit");
      }
    }
    const ended = await actor.request("/mcp", {
      method: "DELETE",
      headers: { authorization: `Bearer ${accessToken}`, ...headers },
    });
    if (ended?.status !== 204) return;
    actor.did("ended");
    for (const slot of fleet.running) {
      const reply = await actor.request("/mcp", post(accessToken, legacyCall("echo", { text: "dead" }), headers), slot);
      if (reply?.status === 200) actor.violate(`a session that ended works at instance ${slot.index}`);
    }
  });
}
