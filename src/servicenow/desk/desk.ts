/** The jobs of a service desk, put together. Each call is one person's, and ends in time for ServiceNow's own agents. */
import type { Clock } from "../../lib/time/clock.ts";
import type { Result } from "../../lib/result.ts";
import type { TableAccess } from "../access/table_access.ts";
import type { CallAs } from "../calls.ts";
import { readItem } from "../catalog/catalog_item.ts";
import { orderFromCatalog } from "../catalog/order.ts";
import { createDeskChanges } from "../changes/desk_changes.ts";
import type { ServicenowFailure } from "../failure.ts";
import type { ServicenowInstance } from "../instance.ts";
import type { ServicenowLinks } from "../links/links.ts";
import type { Caller } from "../caller.ts";
import { countRecords } from "../records/count.ts";
import { findRecord } from "../records/find_record.ts";
import { getRecord } from "../records/get_record.ts";
import { chooseFile, fetchFile } from "../records/record_files.ts";
import { searchRecords } from "../records/search.ts";
import { createTableApi } from "../records/table_api.ts";
import { describeTable } from "../schema/describe.ts";
import { createPersonCache, type Person } from "../schema/person_cache.ts";
import type { DeskParts } from "./desk_parts.ts";
import type { Desk } from "../port.ts";

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
  };

  /** Who calls, by the instance's own account: what is remembered for one is never answered to another. */
  const asPerson = async <T>(
    { subject, signal }: Caller,
    job: (person: Person) => Promise<Result<T, ServicenowFailure>>,
  ): Promise<Result<T, ServicenowFailure>> => {
    const access = await links.access(subject, { signal });
    if (!access.ok) return access;
    const held = { current: access.value };
    return await job({ subject, signal, deadline: elapsed() + limitMs, account: access.value.account, held });
  };

  return {
    tables: parts.access.names,
    search: (search, caller) => asPerson(caller, (person) => searchRecords(parts, search, person)),
    count: (request, caller) => asPerson(caller, (person) => countRecords(parts, request, person)),
    get: (request, caller) => asPerson(caller, (person) => getRecord(parts, request, person)),
    describe: (request, caller) => asPerson(caller, (person) => describeTable(parts, request, person)),
    fetchFile: (record, name, caller) =>
      asPerson(caller, async (person) => {
        const found = await findRecord(parts, record, person, { fields: [] });
        if (!found.ok) return found;
        const file = await chooseFile(parts, found.value, name, person);
        return file.ok ? await fetchFile(parts, file.value.sysId, person) : file;
      }),
    fetchFileById: (attachmentId, caller) => asPerson(caller, (person) => fetchFile(parts, attachmentId, person)),
    describeItem: (item, caller) => asPerson(caller, (person) => readItem(parts, item, person)),
    order: (request, caller) => asPerson(caller, (person) => orderFromCatalog(parts, request, person)),
    ...createDeskChanges(parts, asPerson),
  };
}
