/** Shares the places for calls that wait, so that one agent cannot keep others from asking. */
import { type HeldCall, maxHeldCalls } from "./held_call.ts";
import type { JudgedCall } from "./rule.ts";

/** Calls of one person that wait. */
const maxOfPerson = 50;

type Asker = Pick<JudgedCall, "person" | "clientId">;

/**
 * Where a new call goes: to a free place, to the place of another one, or nowhere. Where all are taken, the person with
 * the most gives way, and of a person the client with the most, but never below what the newcomer then has. The newest
 * call goes: the oldest may be in front of a person. What was decided stays.
 */
export function placeFor(asker: Asker, held: readonly HeldCall[]): "free" | "none" | HeldCall {
  const own = held.filter(({ person }) => person === asker.person);
  if (own.length >= maxOfPerson) return displacedOf(own, asker);
  if (held.length < maxHeldCalls) return "free";
  const [most = []] = bySize(held, ({ person }) => person);
  if (most[0]?.person === asker.person) return displacedOf(own, asker);
  return most.length > own.length + 1 ? newestWaiting(bySize(most, ({ clientId }) => clientId)) : "none";
}

/** Among a person's own clients. */
function displacedOf(own: readonly HeldCall[], { clientId }: Asker): "none" | HeldCall {
  const ofClient = own.filter((call) => call.clientId === clientId).length;
  const larger = bySize(own, (call) => call.clientId).filter((calls) => calls.length > ofClient + 1);
  return newestWaiting(larger);
}

function newestWaiting(groups: readonly (readonly HeldCall[])[]): "none" | HeldCall {
  for (const group of groups) {
    const newest = group.filter(({ state }) => state === "waiting").sort((a, b) => b.createdAt - a.createdAt)[0];
    if (newest !== undefined) return newest;
  }
  return "none";
}

/** The groups, the largest first. */
function bySize(calls: readonly HeldCall[], keyOf: (call: HeldCall) => string): HeldCall[][] {
  return [...Map.groupBy(calls, keyOf).values()].sort((a, b) => b.length - a.length);
}
