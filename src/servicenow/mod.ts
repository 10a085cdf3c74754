/**
 * ServiceNow behind the server: records of one instance, for people and the agents that act for them.
 *
 * - Every call is made with the token of the person who calls, and so with that person's rights and no others. Tokens are
 *   kept sealed (`link_store.ts`), renewed once for all callers, and sent to no other host than the instance.
 * - What callers write is resolved to fields, values and records before anything is sent; what cannot be resolved, or is not
 *   known, is said. A change is sent once, and told by what the instance answered.
 * - `createServicenow` (`servicenow.ts`) puts it together; tools, resources and prompts are made of what it gives.
 *
 * All but names of tables is loaded when an instance is configured.
 */
export { listOf } from "./outcome_tool.ts";
export type { Servicenow, ServicenowRecords } from "./servicenow.ts";
export { relatedTables, tableNameOf, tableOfNumber, tablesOfKind } from "./tables.ts";
export type { Transport, UpstreamRequest } from "./transport.ts";

/** The instance's side: records, links, sign-in. */
export const loadServicenow = (): Promise<typeof import("./servicenow.ts")> => import("./servicenow.ts");
/** What callers are offered of it: tools, resources and prompts. */
export const loadServicenowTools = (): Promise<typeof import("./servicenow_tools.ts")> =>
  import("./servicenow_tools.ts");
