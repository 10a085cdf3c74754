/** Wires everything that this server does with one ServiceNow instance. */
import type { Admission } from "../lib/turns.ts";
import { type Clock, pause, systemTimers } from "../lib/time.ts";
import type { SecretBox } from "../lib/secrets.ts";
import { parseInstanceUrl } from "../lib/settings.ts";
import type { Foundation } from "../storage/mod.ts";
import { createDeskParts, createTableAccess, type DeskParts } from "./table_api.ts";
import { defaultTables } from "./tables.ts";
import { type Answer, attempt, describeFailure, type ServicenowFailure, unavailableCauses } from "./failure.ts";
import { type Caller, createCallAs, createFetchOnce, createTransport, type Fetch } from "./transport.ts";
import { createLinkStore } from "./link_store.ts";
import {
  askWhoAmI,
  createInstanceTokenEndpoint,
  createLinkFlow,
  createLinking,
  createServicenowLinks,
  type InstanceClient,
  type ServicenowLinks,
} from "./links.ts";
import { parseResourceId, readProfile, readResource } from "./resources.ts";
import type { InstanceSignIn } from "../oauth/mod.ts";

/** What an instance is used with. */
export interface ServicenowOptions extends Foundation {
  /** The instance's address, as the setting takes it. */
  readonly instance: string;
  readonly client: InstanceClient;
  /** The tables that the operator opened, each a name, or the start of names and `*`. */
  readonly tables?: readonly string[];
  /** Where a user links an account: told to agents whose user has to go there. */
  readonly linkUrl: string;
  readonly secrets: SecretBox;
  readonly fetch: Fetch;
  /** For how long a user's calls pause; the machine's own when absent. */
  readonly elapsed?: Clock;
  /** Between 0 and 1, as `Math.random`. */
  readonly random: () => number;
  /** Other times than the usual ones, for tests. */
  readonly times?: Partial<
    Readonly<Record<"requestMs" | "callMs" | "retryDelayMs" | "lockMs" | "jobMs" | "linkMs", number>>
  >;
  /** Takes one call from a user's share. */
  readonly admit: (subject: string) => Admission | Promise<Admission>;
}

/** One instance, as {@link createServicenow} builds it. */
export type Servicenow = ReturnType<typeof createServicenow>;

/** What tools and resources may do with an instance: every call in the caller's own name, under their rights. */
export type ServicenowRecords = Pick<Servicenow, "run" | "tables" | "reader" | "linking" | "describe">;

/** Puts it together. Throws `TypeError` for an address that configuration should have refused. */
export function createServicenow(options: ServicenowOptions) {
  const { client, linkUrl, storage, secrets, clock, elapsed = systemTimers.elapsed, random, log, times, admit } =
    options;
  const origin = parseInstanceUrl(options.instance);
  if (!origin.ok) throw new TypeError(`The address of the ServiceNow instance ${origin.error}`);
  const instance = { origin: origin.value };
  const fetchOnce = createFetchOnce(options.fetch);
  const transport = createTransport({ instance, fetch: options.fetch, fetchOnce: fetchOnce.fetch, ...times });
  const tokenEndpoint = createInstanceTokenEndpoint({ transport, client });
  const store = createLinkStore({ instance, storage, secrets, log });
  const links = createServicenowLinks({ store, storage, tokenEndpoint, clock, pause, log, ...times });
  const callAs = createCallAs({ links, transport, admit, clock, elapsed, random, pause, ...times });
  const access = createTableAccess(options.tables ?? defaultTables);
  const signIn: InstanceSignIn = {
    origin: instance.origin,
    status: links.status,
    health: links.health,
    unlink: links.unlink,
    ...createLinkFlow({
      ...{ instance, client, storage, secrets, links, tokenEndpoint, clock },
      whoAmI: (accessToken, signal) => askWhoAmI({ transport, clock }, accessToken, signal),
    }),
  };
  const run = createJobs({ callAs, instance, links, access, clock, elapsed, ...times });
  return {
    links,
    signIn,
    run,
    /** Tables that callers may be told of. */
    tables: access.names,
    reader: {
      /** `text` is a sys_id or a number, checked before anything is asked. */
      async read(kind: Parameters<typeof parseResourceId>[0], text: string, caller: Caller) {
        const id = parseResourceId(kind, text);
        return id.ok ? await run(readResource, id.value, caller) : id;
      },
      me: (caller: Caller) => run(readProfile, null, caller),
    },
    linking: createLinking({ links, storage, log, linkUrl, ...times }),
    describe: (failure: ServicenowFailure) => describeFailure(failure, linkUrl),
    /** Closes what it holds open; it is not used afterwards. */
    close: () => fetchOnce.close(),
  };
}

/** A job of a service desk, done in one person's name. What refuses it is thrown as a `Refusal`. */
export type Job<Request, T> = (parts: DeskParts, request: Request) => Promise<T>;

/** ServiceNow's agents give up after 30 s. */
const jobMs = 24_000;

/** Does jobs. Each ends in time for ServiceNow's own agents; what refused it is its failure. */
function createJobs(
  { links, jobMs: limitMs = jobMs, ...place }: Parameters<typeof createDeskParts>[0] & {
    readonly links: ServicenowLinks;
    readonly jobMs?: number;
  },
) {
  const partsFor = createDeskParts(place);
  const { elapsed } = place;
  return async <Request, T>(
    job: Job<Request, T>,
    request: Request,
    { subject, signal }: Pick<Caller, "subject" | "signal">,
  ): Answer<T> => {
    const access = await links.access(subject, { signal });
    if (!access.ok) return access;
    // By the instance's own account: what is remembered for one is never answered to another.
    const { account } = access.value;
    const person = { subject, signal, deadline: elapsed() + limitMs, account, held: { current: access.value } };
    return await attempt(job(partsFor(person), request));
  };
}

/** No instance issues such a token: its refusal shows whether it accepts the client. */
const noToken = "portcullis-doctor";

/** For `doctor`: why an instance takes no requests of this server's client, with the remedy; `null` where it does. */
export async function whyClientFails(origin: string, client: InstanceClient, fetchOnce: Fetch) {
  const transport = createTransport({ instance: { origin }, fetch: fetchOnce, fetchOnce });
  const answer = await createInstanceTokenEndpoint({ transport, client }).refresh(noToken);
  return answer.ok || answer.error.reason === "refused" ? null : unavailableCauses[answer.error.because];
}
