/**
 * Reads rows until enough are there. Instances differ: a page is cut before the rights, the count is made before or after
 * them, links and counts may be missing. The end is where a link or a count says so, or where a wide page is empty.
 */
import { type Result, success } from "../lib/result.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { RecordFields } from "./port.ts";
import type { Person, RowsRequest, TableApi } from "./table_api.ts";

/** Where reading begins. */
export interface ReadingPlace {
  /** Rows to skip at the instance. */
  readonly offset: number;
  /** Visible rows after those that were given already. */
  readonly skip: number;
  /** Visible rows before `offset`. */
  readonly given: number;
}

interface RowsRead {
  readonly rows: readonly RecordFields[];
  /** Where to go on; `null` at the end. */
  readonly next: ReadingPlace | null;
  /** The instance's own count, which may include hidden rows. */
  readonly total: number | null;
}

/** Rows of a request that goes on. */
const maxChunk = 200;
/** Rows of a request that looks whether there is more where neither link nor count says so. */
const wideChunk = 1_000;

export async function readOn(
  tableApi: Pick<TableApi, "rows">,
  table: string,
  request: Omit<RowsRequest, "limit" | "offset">,
  { wanted, maxRequests, start = { offset: 0, skip: 0, given: 0 }, firstChunk = wanted }: {
    readonly wanted: number;
    readonly maxRequests: number;
    readonly start?: ReadingPlace;
    readonly firstChunk?: number;
  },
  person: Person,
): Promise<Result<RowsRead, ServicenowFailure>> {
  const found: RecordFields[] = [];
  let { offset, skip, given } = start;
  let chunk = firstChunk + skip;
  for (let requests = 1;; requests++) {
    const page = await tableApi.rows(table, { ...request, limit: chunk, offset }, person);
    if (!page.ok && page.error.reason === "too_large" && chunk > 1 && requests < maxRequests) {
      chunk = Math.ceil(chunk / 4);
      continue;
    }
    if (!page.ok) return page;
    const { rows, nextOffset, total } = page.value;
    const fresh = rows.slice(skip);
    const missing = wanted - found.length;
    found.push(...fresh.slice(0, missing));
    if (fresh.length > missing) return success({ rows: found, next: { offset, skip: skip + missing, given }, total });
    given += rows.length;
    const isAll = total !== null && given >= total;
    if (nextOffset === null && (isAll || (rows.length === 0 && chunk >= wideChunk))) {
      return success({ rows: found, next: null, total });
    }
    offset = nextOffset ?? offset + chunk;
    skip = Math.max(0, skip - rows.length);
    if (requests >= maxRequests || found.length >= wanted) {
      return success({ rows: found, next: { offset, skip, given }, total });
    }
    chunk = nextOffset === null ? wideChunk : Math.max(chunk, Math.min(maxChunk, 4 * chunk));
  }
}
