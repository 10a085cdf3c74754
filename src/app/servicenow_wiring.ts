/** Wires the configured ServiceNow instance: records, links, and what other parts need from them. */
import { loadServicenow, type Servicenow } from "../servicenow/mod.ts";
import type { Config } from "./config/config.ts";
import { createRateLimiter, type RateLimiter } from "../http/mod.ts";
import type { Parts } from "./installation.ts";
import { systemTimers } from "../lib/time.ts";
import { offeredScopes } from "../lib/principal.ts";

const minute = 60_000;
/** For each user; an instance has its own limits. */
export const servicenowCallsPerMinute = 240;

/**
 * `null` where the configuration names no instance: then none of this is loaded. `calls` counts the calls of each
 * person; in this process only when absent.
 */
export async function openServicenow(
  { access, tables, missing }: Config["servicenow"],
  parts: Parts,
  calls: RateLimiter = createRateLimiter({
    count: servicenowCallsPerMinute,
    windowMs: minute,
    clock: systemTimers.elapsed,
  }),
): Promise<Servicenow | null> {
  const { serverUrl, log, telemetry: { fetch } } = parts;
  if (missing.length > 0) {
    log.write("warn", "servicenow_not_configured", {
      problem: `SERVICENOW_INSTANCE alone offers no tools: ${missing.join(" and ")} are missing`,
      remedy: `set them from an OAuth client of the instance; its form: ${
        formWords(serverUrl)
      }; see docs/servicenow.md`,
    });
  }
  if (access === undefined) return null;
  const { createServicenow } = await loadServicenow();
  const { instance, clientId, clientSecret } = access;
  if (tables.includes("*")) {
    log.write("warn", "servicenow_all_tables", {
      problem: "SERVICENOW_TABLES=* opens every table that is not refused to agents, with each user's own rights",
      remedy: "name the tables that agents need",
    });
  }
  return createServicenow({
    ...parts,
    instance,
    tables,
    client: { clientId, clientSecret, redirectUri: `${serverUrl}/servicenow/callback` },
    linkUrl: `${serverUrl}/servicenow/link`,
    fetch,
    random: Math.random,
    admit: (subject) => calls.take(subject),
  });
}

/** The scopes that are offered: ServiceNow's only with an instance, and the one that writes there only if it is on. */
export function scopesOf({ access, write }: Config["servicenow"]): readonly string[] {
  return offeredScopes({ servicenow: access === undefined ? "off" : write ? "write" : "read" });
}

/** The fields of that form with what belongs into each. docs/servicenow.md shows the same. */
export function registryForm(serverUrl: string): readonly (readonly [field: string, value: string])[] {
  return [
    ["Name", "Portcullis"],
    ["Client Secret", "leave empty, the instance makes one"],
    ["Redirect URL", `${serverUrl}/servicenow/callback`],
    ["Public Client", "not ticked"],
    ["Refresh Token Lifespan", "8640000"],
    ["Access Token Lifespan", "1800"],
    ["Auth Scope", "useraccount"],
  ];
}

/** The form that registers this server at an instance, filled in, on one line. */
export function formWords(serverUrl: string): string {
  return registryForm(serverUrl).map(([field, value]) => `${field} ${value}`).join("; ");
}
