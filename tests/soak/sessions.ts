/** The actor with sessions and streams of the legacy era: begins, uses and ends them. */
import assert from "node:assert/strict";
import { type Actor, persist, type Stage, unlessCut } from "./actor.ts";
import { post } from "./mcp.ts";

const version = "2025-11-25";
const maxSessions = 10;
const maxStreams = 4;

/** A stream that is being read. */
interface OpenStream {
  close(): Promise<void>;
}

/** Sessions live over kills; one that has ended never comes back. */
export function createSessionsActor(name: string, { server, random, count }: Stage, token: string): Actor {
  const live: string[] = [];
  const ended: string[] = [];
  const streams: OpenStream[] = [];
  const headersOf = (id: string) => ({ "mcp-session-id": id, "mcp-protocol-version": version });

  const begin = async (): Promise<void> => {
    const response = await server.fetch(`${server.url}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: version, capabilities: {}, clientInfo: { name: "soak", version: "1" } },
      }),
    });
    assert.equal(response.status, 200);
    const id = response.headers.get("mcp-session-id");
    assert.ok(id, "a handshake gives a session");
    live.push(id);
    count("session begun");
  };
  const ping = async (id: string): Promise<number> =>
    (await post(server, { jsonrpc: "2.0", id: 1, method: "ping" }, { token, headers: headersOf(id) })).status;
  const requireLive = async (id: string): Promise<void> =>
    assert.equal(await persist(() => ping(id)), 200, "a session lives on over a kill");
  const requireEnded = async (id: string): Promise<void> =>
    assert.equal(await persist(() => ping(id)), 404, "a session that has ended stays ended");

  const end = async (): Promise<void> => {
    const [id = ""] = live.splice(random.int(live.length), 1);
    const response = await unlessCut(server.fetch(`${server.url}/mcp`, {
      method: "DELETE",
      headers: { ...headersOf(id), authorization: `Bearer ${token}` },
    }));
    if (response === null) {
      count("end of a session in doubt");
      const status = await persist(() => ping(id));
      if (status === 200) return void live.push(id);
    } else assert.ok(response.ok, `DELETE of a session was answered with ${response.status}`);
    ended.push(id);
    await requireEnded(id);
    count("session ended");
  };
  const subscribe = async (): Promise<void> => {
    const params = { uri: `workspace:///watched-${random.int(20)}.txt` };
    const method = random.chance(0.5) ? "resources/subscribe" : "resources/unsubscribe";
    const headers = headersOf(random.pick(live));
    const { status } = await post(server, { jsonrpc: "2.0", id: 1, method, params }, { token, headers });
    assert.equal(status, 200);
    count(method);
  };
  const openStream = async (): Promise<void> => {
    if (streams.length >= maxStreams) await streams.shift()?.close();
    const response = await server.open(`${server.url}/mcp`, {
      headers: { ...headersOf(random.pick(live)), accept: "text/event-stream", authorization: `Bearer ${token}` },
    });
    if (response.status !== 200 || response.body === null) {
      await response.body?.cancel();
      assert.fail(`a stream was answered with ${response.status}`);
    }
    const reader = response.body.getReader();
    // A kill ends it in the middle, which is all that a stream may lose.
    const done = (async () => {
      while (!(await reader.read()).done);
    })().catch(() => {});
    streams.push({
      async close() {
        await reader.cancel().catch(() => {});
        await done;
      },
    });
    count("stream opened");
  };

  return {
    name,
    async step() {
      const dice = random.int(100);
      if (live.length === 0 || (dice < 15 && live.length < maxSessions)) return await begin();
      if (dice < 25) return await end();
      if (dice < 45) return await openStream();
      if (dice < 70) return await subscribe();
      await requireLive(random.pick(live));
      if (ended.length > 0) await requireEnded(random.pick(ended));
      count("sessions probed");
    },
    async rest() {
      for (const stream of streams.splice(0)) await stream.close();
    },
    async audit() {
      for (const id of live) await requireLive(id);
      for (const id of ended) await requireEnded(id);
    },
  };
}
