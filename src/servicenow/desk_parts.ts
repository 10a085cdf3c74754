/** What the jobs of a service desk are made of: built once for an instance, and asked in one person's name at a time. */
import type { Clock } from "../lib/clock.ts";
import type { TableAccess } from "./table_access.ts";
import type { CallAs } from "./calls.ts";
import type { ServicenowInstance } from "./instance.ts";
import type { TableApi } from "./table_api.ts";
import type { Remember } from "./person_cache.ts";

export interface DeskParts {
  readonly access: TableAccess;
  readonly callAs: CallAs;
  readonly instance: ServicenowInstance;
  readonly tableApi: TableApi;
  readonly remember: Remember;
  /** The time of day. */
  readonly clock: Clock;
}
