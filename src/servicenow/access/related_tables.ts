/** Tables by which the records of another one may be reached. */
import { knownTable, knownTables } from "./known_tables.ts";

/** What else a table's records may be reached by: its label, the tables that it extends, and those that extend it. */
export function relatedTables(name: string): readonly string[] {
  const { label, parents = [] } = knownTable(name) ?? {};
  const extending = knownTables.filter((each) => each.parents?.includes(name) === true);
  const group = name.startsWith("cmdb_ci_") ? ["cmdb_ci"] : [];
  return [
    ...(label === undefined ? [] : [label]),
    ...parents,
    ...group,
    ...extending.flatMap((each) => [each.name, each.label]),
  ];
}
