/** Wires everything that this server does with one ServiceNow instance. */
import type { Admission } from "../lib/join_next.ts";
import { type Clock, pause, systemTimers } from "../lib/time.ts";
import type { Log } from "../lib/log.ts";
import type { SecretBox } from "../lib/secrets.ts";
import { parseInstanceUrl } from "../lib/settings.ts";
import type { Storage } from "../storage/mod.ts";
import { createTableAccess } from "./table_access.ts";
import { defaultTables } from "./tables.ts";
import { createCallAs } from "./calls.ts";
import { describeFailure, type ServicenowFailure } from "./failure.ts";
import { createDesk } from "./desk.ts";
import { createFetchOnce, createSend, createTransport, type Fetch } from "./transport.ts";
import type { InstanceSignIn } from "../oauth/mod.ts";
import { createLinkFlow, createLinking } from "./link_flow.ts";
import { createLinkStore } from "./link_store.ts";
import { askWhoAmI, createServicenowLinks } from "./links.ts";
import { createRecordReader } from "./resources.ts";
import { createInstanceTokenEndpoint, type InstanceClient } from "./token_endpoint.ts";

/** What an instance is used with. */
export interface ServicenowOptions {
  /** The instance's address, as the setting takes it. */
  readonly instance: string;
  readonly client: InstanceClient;
  /** The tables that the operator opened, each a name, or the start of names and `*`. */
  readonly tables?: readonly string[];
  /** Where a user links an account: told to agents whose user has to go there. */
  readonly linkUrl: string;
  readonly storage: Storage;
  readonly secrets: SecretBox;
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** For how long a user's calls pause; the machine's own when absent. */
  readonly elapsed?: Clock;
  /** Between 0 and 1, as `Math.random`. */
  readonly random: () => number;
  readonly log: Log;
  /** Other times than the usual ones, for tests. */
  readonly times?: {
    readonly requestMs?: number;
    readonly callMs?: number;
    readonly retryDelayMs?: number;
    readonly lockMs?: number;
    readonly jobMs?: number;
    readonly linkMs?: number;
  };
  /** Takes one call from a user's share. */
  readonly admit: (subject: string) => Admission | Promise<Admission>;
}

/** One instance, as {@link createServicenow} builds it. */
export type Servicenow = ReturnType<typeof createServicenow>;

/** What tools and resources may do with an instance: every call in the caller's own name, under their rights. */
export type ServicenowRecords = Pick<Servicenow, "reader" | "desk" | "linking" | "describe">;

/** Puts it together. Throws `TypeError` for an address that configuration should have refused. */
export function createServicenow(options: ServicenowOptions) {
  const { elapsed = systemTimers.elapsed } = options;
  const { client, linkUrl, storage, secrets, clock, random, log, times, admit } = options;
  const origin = parseInstanceUrl(options.instance);
  if (!origin.ok) throw new TypeError(`The address of the ServiceNow instance ${origin.error}`);
  const instance = { origin: origin.value };
  const fetchOnce = createFetchOnce(options.fetch);
  const transport = createTransport({ instance, fetch: options.fetch, fetchOnce: fetchOnce.fetch, ...times });
  const tokenEndpoint = createInstanceTokenEndpoint({ transport, client });
  const store = createLinkStore({ instance, storage, secrets, log });
  const links = createServicenowLinks({ store, storage, tokenEndpoint, clock, pause, log, ...times });
  const send = createSend({ transport, clock, random, pause, ...times });
  const callAs = createCallAs({ links, send, admit, clock: elapsed, ...times });
  const reader = createRecordReader({ callAs, instance });
  const access = createTableAccess(options.tables ?? defaultTables);
  const signIn: InstanceSignIn = {
    origin: instance.origin,
    status: links.status,
    health: links.health,
    unlink: links.unlink,
    ...createLinkFlow({
      instance,
      client,
      storage,
      secrets,
      links,
      tokenEndpoint,
      whoAmI: (accessToken, signal) => askWhoAmI({ transport, clock }, accessToken, signal),
      clock,
    }),
  };
  return {
    links,
    signIn,
    reader,
    linking: createLinking({ links, storage, log, linkUrl, ...times }),
    desk: createDesk({ callAs, instance, links, access, clock, elapsed, ...times }),
    describe: (failure: ServicenowFailure) => describeFailure(failure, linkUrl),
    /** Closes what it holds open; it is not used afterwards. */
    close: () => fetchOnce.close(),
  };
}
