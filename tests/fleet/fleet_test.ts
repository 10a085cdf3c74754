/** Any instance answers any request: what one of two servers on a database holds, clients reach through the other. */
import assert from "node:assert/strict";
import { pause } from "../../src/lib/time.ts";
import { modernRequest, postMcp } from "../fixtures/mcp_call.ts";
import type { RunningServer } from "../fixtures/running_server.ts";
import { readEvents } from "../mcp/event_reader.ts";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";
import { beginSession, type Fleet, type FleetSession, type FleetToken, readUntil, startFleet } from "./fleet.ts";

/** Asks again until the gate is so: nothing tells of a state. */
async function untilGate(session: FleetSession, server: RunningServer, gate: string, state: string): Promise<void> {
  const end = performance.now() + 60_000;
  for (let found = ""; found !== state;) {
    assert.ok(performance.now() < end, `the gate is ${found}`);
    found = await session.callText(server, "gate_state", { gate });
    await pause(20);
  }
}

function textOf(message: Record<string, unknown>): string | undefined {
  return (message["result"] as { content: { text: string }[] } | undefined)?.content[0]?.text;
}

const steps: Readonly<Record<string, (fleet: Fleet, session: FleetSession, token: FleetToken) => Promise<void>>> = {
  "a question is answered at the other instance"({ first, second }, session) {
    return answerElsewhere(first, second, session, "Ada");
  },

  "an answer larger than an entry reaches the instance that asked, whole"({ first, second }, session) {
    return answerElsewhere(first, second, session, "\u0001ü☃".repeat(60_000));
  },

  async "a call whose client comes back at the other instance ends there with an error"({ first, second }, session) {
    const before = await session.callStream(first, "wait_at_gate", { gate: "resumed" }, 11);
    const primed = await before.next();
    await before.cancel();
    const [event, ...more] = await (await session.get(second, primed?.id)).rest();
    assert.equal((event?.message?.["error"] as { code?: number } | undefined)?.code, -32603);
    assert.deepEqual(more, []);
    await session.callText(first, "open_gate", { gate: "resumed" });
    assert.equal(textOf(await readUntil(await session.get(first, primed?.id), null)), "opened");
  },

  async "another session's stream is not to be had, there as little as here"({ first, second }, session, token) {
    const stranger = await beginSession(first, token);
    const reader = await session.callStream(first, "wait_at_gate", { gate: "foreign" }, 13);
    const id = (await reader.next())?.id;
    for (const server of [first, second]) {
      const fresh = await stranger.get(server, id);
      const event = await fresh.next();
      assert.equal(event?.message, null); // a stream of its own, primed
      assert.notEqual(event?.id?.split(".")[0], id?.split(".")[0]);
      await fresh.cancel();
    }
    await session.callText(first, "open_gate", { gate: "foreign" });
    assert.equal(textOf(await readUntil(reader, null)), "opened");
    await reader.cancel();
  },

  async "a cancellation at the other instance stops the call"({ first, second }, session) {
    const reader = await session.callStream(first, "wait_at_gate", { gate: "cancelled" }, 14);
    await readUntil(reader, "notifications/progress");
    const params = { requestId: 14 };
    const taken = await session.post(second, { jsonrpc: "2.0", method: "notifications/cancelled", params });
    assert.equal(taken.status, 202);
    await taken.body?.cancel();
    assert.equal(await reader.next(), null); // without a response
    assert.equal(await session.callText(first, "gate_state", { gate: "cancelled" }), "stopped");
  },

  async "a subscription made at one instance hears of a file that the other one writes"({ first, second }, session) {
    const notices = await session.get(first);
    await notices.next(); // primed
    const uri = "workspace:///notes/today.txt";
    const message = { jsonrpc: "2.0", id: 15, method: "resources/subscribe", params: { uri } };
    assert.deepEqual((await (await session.post(second, message)).json()).result, {});
    // The first instance hears of the subscription soon, of changes from then on.
    const updated = readUntil(notices, "notifications/resources/updated");
    let isUpdated = false;
    void updated.then(() => isUpdated = true);
    for (let round = 0; !isUpdated; round++) {
      await session.callText(second, "file_write", { filename: "notes/today.txt", content: String(round) });
      await pause(20);
    }
    assert.deepEqual((await updated)["params"], { uri });
    await notices.cancel();
  },

  async "a session's own stream is opened again at the other instance"(
    { first, second },
    session,
  ) {
    const before = await session.get(first);
    const id = (await before.next())?.id;
    await before.cancel();
    const after = await session.get(second, id);
    await session.callText(first, "file_write", { filename: "notes/today.txt", content: "later" });
    const { params } = await readUntil(after, "notifications/resources/updated");
    assert.deepEqual(params, { uri: "workspace:///notes/today.txt" });
    await after.cancel();
  },

  async "a task's end reaches whoever listens at the other instance"({ first, second }, session, { text: token }) {
    const extensions = { "io.modelcontextprotocol/tasks": {} };
    const ask = async (server: RunningServer, method: string, params: Record<string, unknown>): Promise<Response> => {
      const { message, headers } = modernRequest(method, params);
      const meta = (message["params"] as { _meta: Record<string, unknown> })._meta;
      meta["io.modelcontextprotocol/clientCapabilities"] = { extensions };
      return await postMcp(server.url, message, { token, headers });
    };
    const begun = await ask(first, "tools/call", { name: "wait_at_gate", arguments: { gate: "task", asTask: true } });
    const { taskId } = (await begun.json()).result;
    const listening = await ask(second, "subscriptions/listen", { notifications: { taskIds: [taskId] } });
    const reader = readEvents(listening, { method: "subscriptions/listen", isModern: true });
    await readUntil(reader, "notifications/subscriptions/acknowledged");
    await session.callText(first, "open_gate", { gate: "task" });
    const statusTold = async (): Promise<unknown> =>
      ((await readUntil(reader, "notifications/tasks"))["params"] as { status: string }).status;
    while (await statusTold() !== "completed");
    await reader.cancel();
  },

  async "a session that ends at one instance ends its streams and calls at the other"(
    { first, second },
    session,
    token,
  ) {
    const own = await beginSession(second, token);
    const [notices, call] = [await own.get(first), await own.callStream(first, "wait_at_gate", { gate: "ended" }, 16)];
    await readUntil(call, "notifications/progress");
    assert.equal(await own.end(second), 204);
    await notices.rest();
    assert.deepEqual(await call.rest(), []);
    await untilGate(session, first, "ended", "stopped");
  },

  async "a revoked token ends what it opened, on every instance, and nothing else"(fleet, session) {
    const { first, second } = fleet;
    const token = await fleet.createToken();
    const own = await beginSession(first, token);
    const other = await session.get(second);
    await other.next(); // primed
    const { message, headers } = modernRequest("subscriptions/listen", { notifications: {} });
    const listening = await postMcp(second.url, message, { token: token.text, headers });
    const streams = [
      await own.get(first),
      await own.callStream(second, "wait_at_gate", { gate: "revoked" }, 17),
      readEvents(listening, { method: "subscriptions/listen", isModern: true }),
    ];
    await fleet.revoke(token);
    for (const stream of streams) await stream.rest();
    await untilGate(session, second, "revoked", "stopped");
    await session.callText(first, "file_write", { filename: "notes/today.txt", content: "still heard" });
    await readUntil(other, "notifications/resources/updated");
    await other.cancel();
  },
};

async function answerElsewhere(asks: RunningServer, answers: RunningServer, session: FleetSession, name: string) {
  const reader = await session.callStream(asks, "greet", {}, 10);
  const { id } = await readUntil(reader, "elicitation/create");
  const result = { action: "accept", content: { name } };
  const taken = await session.post(answers, { jsonrpc: "2.0", id, result });
  assert.equal(taken.status, 202);
  await taken.body?.cancel();
  assert.deepEqual(JSON.parse(textOf(await readUntil(reader, null)) ?? ""), { name });
  assert.equal(await reader.next(), null);
}

async function testFleet(
  test: Deno.TestContext,
  database: (directory: string) => Readonly<Record<string, string>>,
): Promise<void> {
  await using fleet = await startFleet(database);
  const token = await fleet.createToken();
  const session = await beginSession(fleet.first, token);
  for (const [name, run] of Object.entries(steps)) await test.step(name, () => run(fleet, session, token));
}

const name = (driver: string): string => `two instances on ${driver} are one server to their clients`;

Deno.test(name("SQLite"), (test) => testFleet(test, () => ({})));

const found = findPostgres();
if ("missing" in found) {
  Deno.test({ name: `SKIPPED ${name("PostgreSQL")}: ${found.missing}`, ignore: true, fn: () => {} });
} else {
  Deno.test(name("PostgreSQL"), async (test) => {
    await using cluster = await startPostgresCluster(found.programs);
    await testFleet(test, () => ({ DATABASE_URL: cluster.url }));
  });
}
