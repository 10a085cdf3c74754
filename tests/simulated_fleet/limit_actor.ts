/** One caller who asks for more than its limit allows, at all instances at once. */
import { Actor } from "./actors.ts";
import { type Fleet, mostCalls } from "./fleet.ts";
import { limits } from "./instance.ts";

/** Bursts until the fleet ends; says how many calls were admitted since when. */
export async function runLimitActor(
  fleet: Fleet,
  number: number,
  accessToken: string,
): Promise<{ readonly admitted: number; readonly since: number }> {
  const actor = new Actor(fleet, `limit ${number}`, number);
  const since = fleet.time.now;
  let admitted = 0;
  await actor.live(async () => {
    const replies = await Promise.all(Array.from({ length: 12 }, () => actor.echo(accessToken)));
    for (const reply of replies) {
      if (reply?.status === 200 && reply.error === undefined) admitted += 1;
    }
    actor.did("burst");
    await actor.sleep(actor.random.int(5_000));
  });
  return { admitted, since };
}

/** What the documentation allows: a sixteenth more an instance, each for itself where the storage is away or the clocks
 * are far apart, and what a killed instance forgets. */
export function requireWithinLimit(
  fleet: Fleet,
  { admitted, since }: { readonly admitted: number; readonly since: number },
  isDisturbed: boolean,
): void {
  const instances = fleet.slots.length;
  const share = limits.callsPerMinute / 16 + 1;
  const most = mostCalls(fleet.time.now - since) * (isDisturbed ? instances : 1) + fleet.incarnations * share +
    (fleet.clockSpreadMs > 1_000 ? instances * limits.callsPerMinute : 0);
  if (admitted > most) fleet.violate(`${admitted} calls were admitted, at most ${most} may be`);
}

/** After two quiet minutes the caller is admitted everywhere. */
export async function requireOpenLimit(fleet: Fleet, accessToken: string): Promise<void> {
  const actor = new Actor(fleet, "limit 1", 98);
  for (const slot of fleet.running) {
    const reply = await actor.echo(accessToken, slot);
    if (reply?.status !== 200 || reply.error !== undefined) {
      actor.violate(`a caller who was quiet is refused at instance ${slot.index}: ${JSON.stringify(reply)}`);
    }
  }
}
