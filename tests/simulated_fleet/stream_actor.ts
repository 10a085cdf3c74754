/** Legacy calls that answer as a stream, cut off and taken up again: nothing twice, nothing left out, no silence elsewhere. */
import { Actor, post } from "./actors.ts";
import type { Fleet, Slot } from "./fleet.ts";

const steps = 6;

/** How far a call got, as its client saw it. */
export interface StreamedCall {
  /** Whether the response arrived. */
  readonly isAnswered: boolean;
  /** The instance where it ran. */
  readonly begunAt: Slot;
}

/** Opens a session of the legacy era; `null` where that is not answered. */
export async function openSession(actor: Actor, token: string, slot?: Slot): Promise<Record<string, string> | null> {
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "fleet", version: "1" } },
  };
  const begun = await actor.request("/mcp", post(token, initialize), slot);
  const id = begun?.headers.get("mcp-session-id") ?? null;
  return begun?.status !== 200 || id === null ? null : { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
}

/** A GET of a session's stream. */
export function getStream(token: string, headers: Readonly<Record<string, string>>): RequestInit {
  return { method: "GET", headers: { accept: "text/event-stream", authorization: `Bearer ${token}`, ...headers } };
}

/** One call whose connection is cut, taken up at `next` until it is answered or that fails too often. */
export async function streamCall(
  actor: Actor,
  token: string,
  headers: Record<string, string>,
  { first, next, firstCutMs }: { readonly first: Slot; readonly next: () => Slot; readonly firstCutMs: number },
): Promise<StreamedCall> {
  const { random } = actor;
  const message = {
    jsonrpc: "2.0",
    id: `call ${random.int(1e9)}`,
    method: "tools/call",
    params: { name: "steps", arguments: { count: steps, milliseconds: 900 }, _meta: { progressToken: 1 } },
  };
  let lastEventId: string | null = null;
  let progress = 0;
  let isAnswered = false;
  const take = (text: string): void => {
    for (const event of text.split("\n\n").slice(0, -1)) { // what was cut off in the middle does not count
      const id = /^id: (.*)$/m.exec(event)?.[1];
      if (id !== undefined) lastEventId = id;
      const data = /^data: (\{.*\})$/m.exec(event)?.[1];
      if (data === undefined) continue;
      const received = JSON.parse(data);
      if (received.method === "notifications/progress") {
        const { progress: now } = received.params;
        if (now !== progress + 1) actor.violate(`progress went from ${progress} to ${now}`);
        progress = now;
      } else if (received.id === message.id) {
        if (isAnswered) actor.violate("a call was answered twice");
        isAnswered = true;
        if (received.result?.content?.[0]?.text === "all steps" && progress !== steps) {
          actor.violate(`a stream left out what followed step ${progress}`);
        }
      }
    }
  };
  const begun = await actor.request("/mcp", post(token, message, headers), first, firstCutMs);
  if (begun?.status !== 200) return { isAnswered, begunAt: first };
  take(begun.text);
  for (let attempt = 0; attempt < 12 && !isAnswered && lastEventId !== null; attempt++) {
    await actor.sleep(random.int(2_000));
    const again = { ...headers, "last-event-id": lastEventId };
    const reply = await actor.request("/mcp", getStream(token, again), next(), 1_000 + random.int(9_000));
    if (reply?.status === 200) take(reply.text);
  }
  return { isAnswered, begunAt: first };
}

/** Such calls one after the other, until the fleet ends. */
export function runStreamActor(fleet: Fleet, number: number, accessToken: string): Promise<void> {
  const actor = new Actor(fleet, `streams ${number}`, number);
  return actor.live(async () => {
    const headers = await openSession(actor, accessToken);
    if (headers === null) return;
    const { isAnswered } = await streamCall(actor, accessToken, headers, {
      first: actor.anyInstance(),
      firstCutMs: 500 + actor.random.int(6_000),
      next: () => actor.anyInstance(),
    });
    actor.did(isAnswered ? "answered" : "lost");
    await actor.sleep(actor.random.int(8_000));
  });
}
