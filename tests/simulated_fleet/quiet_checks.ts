/** What a fleet does once nothing goes wrong any more: what is asked of one instance reaches the one that can do it. */
import { Actor, post } from "./actors.ts";
import type { Fleet, Slot } from "./fleet.ts";
import type { PreparedClient } from "./prepared_state.ts";
import { tokenRequest } from "./sign_in.ts";
import { getStream, openSession, streamCall } from "./stream_actor.ts";

const soonMs = 20_000;

/** Checks each pair of instances that stand next to each other. */
export async function checkQuietFleet(fleet: Fleet, clients: readonly PreparedClient[]): Promise<void> {
  const [client, last] = clients;
  if (client === undefined || last === undefined) throw new Error("two clients are needed");
  const actor = new Actor(fleet, "quiet 1", 97);
  const token = client.accessToken;
  for (const [index, here] of fleet.slots.entries()) {
    const there = fleet.slots[(index + 1) % fleet.slots.length] ?? here;
    await requireEnd(actor, token, { here, there, asks: false, status: "cancelled" });
    await requireEnd(actor, token, { here, there, asks: true, status: "completed" });
    await requireStreamEnd(actor, token, { here, there });
    const headers = await openSession(actor, token, here);
    const call = headers &&
      await streamCall(actor, token, headers, { first: here, next: () => there, firstCutMs: 2_500 });
    if (!call?.isAnswered) actor.violate(`a call of instance ${here.index} gets no answer at ${there.index}`);
  }
  const [here, there] = [fleet.slots[0], fleet.slots[1]];
  if (here !== undefined && there !== undefined) await requireRevocation(actor, last, { here, there });
}

interface Places {
  readonly here: Slot;
  readonly there: Slot;
}

/** A task that runs here is cancelled, or answered, there. */
async function requireEnd(
  actor: Actor,
  token: string,
  { here, there, asks, status }: Places & { readonly asks: boolean; readonly status: string },
): Promise<void> {
  const work = { milliseconds: asks ? 400 : 100_000, text: "quiet", asks };
  const begun = await actor.call(token, "tools/call", { name: "work", arguments: work }, here);
  const taskId = begun?.result?.taskId;
  if (typeof taskId !== "string") return actor.violate(`no task: ${JSON.stringify(begun)}`);
  if (!asks) await actor.call(token, "tasks/cancel", { taskId }, there);
  const end = actor.fleet.time.now + soonMs;
  for (;;) {
    const found = await actor.call(token, "tasks/get", { taskId }, there);
    if (found?.result?.status === status) return;
    if (actor.fleet.time.now > end) {
      return actor.violate(
        `a task of instance ${here.index} is not ${status} through ${there.index}: ${JSON.stringify(found)}`,
      );
    }
    if (found?.result?.status === "input_required") {
      const questions = Object.keys(found.result.inputRequests);
      const inputResponses = Object.fromEntries(questions.map((key) => [key, { action: "accept", content: {} }]));
      await actor.call(token, "tasks/update", { taskId, inputResponses }, there);
    }
    await actor.sleep(500);
  }
}

/** A session's stream here ends when the session is ended there. */
async function requireStreamEnd(actor: Actor, token: string, { here, there }: Places): Promise<void> {
  const headers = await openSession(actor, token, here);
  if (headers === null) return actor.violate("no session");
  const stream = actor.request("/mcp", getStream(token, headers), here, soonMs);
  await actor.sleep(500);
  await actor.request(
    "/mcp",
    { method: "DELETE", headers: { authorization: `Bearer ${token}`, ...headers } },
    there,
  );
  const reply = await stream;
  if (reply === null || reply.isCut) actor.violate(`a stream at instance ${here.index} outlives its session`);
}

/** A stream here ends when its token is revoked there, and the token is dead everywhere. */
async function requireRevocation(
  actor: Actor,
  { clientId, accessToken }: PreparedClient,
  { here, there }: Places,
): Promise<void> {
  const headers = await openSession(actor, accessToken, here);
  if (headers === null) return actor.violate("no session");
  const stream = actor.request("/mcp", getStream(accessToken, headers), here, soonMs);
  await actor.sleep(500);
  const revoked = await actor.request(
    "/oauth/revoke",
    tokenRequest({ token: accessToken, client_id: clientId }),
    there,
  );
  if (revoked?.status !== 200) actor.violate(`a token cannot be revoked: ${revoked?.status}`);
  const echo = { jsonrpc: "2.0", id: 2, method: "ping" };
  const after = await actor.request("/mcp", post(accessToken, echo, headers), here);
  if (after?.status !== 401) actor.violate(`a revoked token is answered with ${after?.status}`);
  const reply = await stream;
  if (reply === null || reply.isCut) actor.violate(`a stream at instance ${here.index} outlives its token`);
}
