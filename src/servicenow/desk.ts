/** The jobs of a service desk, put together. Each call is one person's, and ends in time for ServiceNow's own agents. */
import type { Clock } from "../lib/time.ts";
import type { Result } from "../lib/result.ts";
import type { TableAccess } from "./table_access.ts";
import type { CallAs, Caller } from "./calls.ts";
import { readItem } from "./catalog_item.ts";
import { orderFromCatalog } from "./order.ts";
import { addNote, createRecord, updateRecord } from "./write_record.ts";
import { decideApproval } from "./decide_approval.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { ServicenowInstance } from "./instance.ts";
import type { ServicenowLinks } from "./links.ts";
import { countRecords } from "./count.ts";
import { getRecord } from "./get_record.ts";
import { attachFile, fetchFile, fetchNamedFile } from "./record_files.ts";
import { searchRecords } from "./search.ts";
import { createPersonCache, createSeenVersions, createTableApi, type DeskParts, type Person } from "./table_api.ts";
import { describeTable } from "./describe.ts";
import type { Desk } from "./port.ts";

/** ServiceNow's agents give up after 30 s. */
const jobMs = 24_000;

interface DeskOptions {
  readonly callAs: CallAs;
  readonly instance: ServicenowInstance;
  readonly links: Pick<ServicenowLinks, "access">;
  readonly access: TableAccess;
  /** The time of day. */
  readonly clock: Clock;
  /** Only differences are used: the clock of the calls. */
  readonly elapsed: Clock;
  readonly jobMs?: number;
}

export function createDesk(options: DeskOptions): Desk {
  const { links, elapsed, jobMs: limitMs = jobMs } = options;
  const parts: DeskParts = {
    ...options,
    tableApi: createTableApi(options),
    remember: createPersonCache(elapsed),
    seen: createSeenVersions(),
  };

  /** Who calls, by the instance's own account: what is remembered for one is never answered to another. */
  const job =
    <Request, T>(work: (parts: DeskParts, request: Request, person: Person) => Promise<Result<T, ServicenowFailure>>) =>
    async (request: Request, { subject, signal }: Caller): Promise<Result<T, ServicenowFailure>> => {
      const access = await links.access(subject, { signal });
      if (!access.ok) return access;
      const { account } = access.value;
      const person = { subject, signal, deadline: elapsed() + limitMs, account, held: { current: access.value } };
      return await work(parts, request, person);
    };

  return {
    tables: parts.access.names,
    search: job(searchRecords),
    count: job(countRecords),
    get: job(getRecord),
    describe: job(describeTable),
    fetchFile: job(fetchNamedFile),
    fetchFileById: job(fetchFile),
    describeItem: job(readItem),
    order: job(orderFromCatalog),
    create: job(createRecord),
    update: job(updateRecord),
    addNote: job(addNote),
    decide: job(decideApproval),
    attach: job(attachFile),
  };
}
