/** The ServiceNow instance that a configuration names, wired: records, links, and what the other parts take of them. */
import type { ServicenowUse } from "./authorization_server/servicenow_port.ts";
import type { Config } from "./config/config.ts";
import { servicenowLimitsOf } from "./configured_limits.ts";
import { createRateLimiter } from "./http/rate_limit.ts";
import type { Installation } from "./installation.ts";
import type { Clock } from "./lib/clock.ts";
import type { Log } from "./lib/log.ts";
import { createServicenow, type Servicenow } from "./servicenow/servicenow.ts";

/** What the instance stands on. */
export interface ServicenowDependencies extends Installation {
  readonly serverUrl: string;
  readonly log: Log;
  readonly clock: Clock;
}

const minute = 60_000;

/** `null` where the configuration names no instance. */
export function openServicenow(config: Config, dependencies: ServicenowDependencies): Servicenow | null {
  if (config.servicenow === undefined) return null;
  const { serverUrl, storage, secrets, log, clock } = dependencies;
  const { instance, clientId, clientSecret } = config.servicenow;
  const calls = createRateLimiter({ count: config.servicenowCallsPerMinute, windowMilliseconds: minute, clock });
  return createServicenow({
    instance,
    allowLoopbackHttp: instance.startsWith("http:"), // the configuration takes plain http on this machine only
    client: { clientId, clientSecret, redirectUri: `${serverUrl}/servicenow/callback` },
    linkUrl: `${serverUrl}/servicenow/link`,
    storage,
    secrets,
    fetch,
    clock,
    random: Math.random,
    log,
    limits: servicenowLimitsOf(config),
    admit: (subject) => calls.take(subject),
  });
}

/** What the authorization server needs to link accounts, and to sign people in where the configuration says so. */
export function servicenowUseOf(config: Config, { linkFlow, links, origin }: Servicenow): ServicenowUse {
  return {
    instance: {
      origin,
      begin: linkFlow.begin,
      finish: linkFlow.finish,
      status: (subject) => links.status(subject),
      unlink: (subject) => links.unlink(subject),
    },
    signsPeopleIn: config.signIn === "servicenow",
  };
}
