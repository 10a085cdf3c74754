/** What the jobs of a service desk are made of: built once for an instance, and asked in one person's name at a time. */
import type { TableAccess } from "../access/table_access.ts";
import type { CallAs } from "../calls.ts";
import type { ServicenowInstance } from "../instance.ts";
import type { FindColumn, NamedColumn } from "../query/columns_by_name.ts";
import type { DatesOf } from "../query/person_dates.ts";
import type { ResolveConditions } from "../query/resolve_conditions.ts";
import type { TableApi } from "../records/table_api.ts";
import type { ChoicesOf, ChoicesOfColumn } from "../schema/choices.ts";
import type { ColumnsOf } from "../schema/columns.ts";
import type { References } from "../schema/references.ts";

export interface DeskParts {
  readonly access: TableAccess;
  readonly callAs: CallAs;
  readonly instance: ServicenowInstance;
  readonly tableApi: TableApi;
  readonly columnsOf: ColumnsOf;
  readonly choicesOf: ChoicesOf;
  readonly choicesOfColumn: ChoicesOfColumn;
  readonly references: References;
  readonly findColumn: FindColumn;
  readonly namedColumn: NamedColumn;
  readonly resolveConditions: ResolveConditions;
  readonly datesOf: DatesOf;
}
