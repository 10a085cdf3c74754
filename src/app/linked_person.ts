/** Whose account `doctor --servicenow` asks the instance as: the owner's, or the one used last. */
import type { Config } from "./config/config.ts";
import { systemClock } from "../lib/clock.ts";
import { pause } from "../lib/pause.ts";
import { ownerId } from "../oauth/records/user.ts";
import { createServicenowLinks } from "../servicenow/links.ts";
import { createLinkStore } from "../servicenow/link_store.ts";
import { askWhoAmI } from "../servicenow/who_am_i.ts";
import { createInstanceTokenEndpoint } from "../servicenow/token_endpoint.ts";
import type { Transport } from "../servicenow/transport.ts";
import { openInstallation } from "./installation.ts";
import { tokenBoxes } from "./servicenow_wiring.ts";

const silent = { write: () => {}, flush: () => {} };

/** With a token that is renewed if need be, as a call would; `null` where there is no link that works. */
export async function findLinkedPerson(
  { servicenow, storage: place }: Pick<Config, "servicenow" | "storage">,
  { transport, serverUrl }: { readonly transport: Transport; readonly serverUrl: string },
): Promise<{ readonly userName: string; readonly accessToken: string } | null> {
  // To open with a previous key would move what it sealed to the present one.
  if (servicenow.access === undefined || place.previousMasterKey !== undefined) return null;
  const opened = await openInstallation(place, systemClock);
  if (!opened.ok) return null;
  const { storage, secrets } = opened.value;
  try {
    const { instance: origin, clientId, clientSecret } = servicenow.access;
    const [current, ...previousSecrets] = tokenBoxes(servicenow, secrets);
    const store = createLinkStore({ instance: { origin }, storage, secrets: current, previousSecrets, log: silent });
    const client = { clientId, clientSecret, redirectUri: `${serverUrl}/servicenow/callback` };
    const tokenEndpoint = createInstanceTokenEndpoint({ transport, client });
    const links = createServicenowLinks({ store, storage, tokenEndpoint, clock: systemClock, pause, log: silent });
    const linked = (await links.health(null)).filter(({ state }) => state === "linked")
      .sort((a, b) => Number(b.subject === ownerId) - Number(a.subject === ownerId) || b.renewedAt - a.renewedAt);
    const [first] = linked;
    if (first === undefined) return null;
    const { signal } = new AbortController();
    const found = await links.access(first.subject, { signal });
    if (!found.ok) return null;
    const { accessToken: refused } = found.value;
    const asked = await askWhoAmI({ transport, clock: systemClock }, refused, signal);
    const isEnded = !asked.ok && asked.error.reason === "link_expired"; // before its time
    const access = isEnded ? await links.access(first.subject, { signal, refused }) : found;
    return access.ok ? { userName: access.value.account.userName, accessToken: access.value.accessToken } : null;
  } finally {
    await storage.close();
  }
}
