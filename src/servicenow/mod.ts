/**
 * ServiceNow behind the server: records of one instance, for people and the agents that act for them.
 *
 * - Every call is made with the token of the person who calls, and so with that person's rights and no others. Tokens are
 *   kept sealed (`link_store.ts`), renewed once for all callers, and sent to no other host than the instance.
 * - Labels and names are resolved to fields, values and records before anything is sent. What cannot be resolved, or is
 *   not known, is reported. A change is sent once; its outcome is what the instance answered.
 * - Inside a job a refusal is thrown (`Refusal` in `failure.ts`); `createJobs` makes it a value.
 * - `createServicenow` (`servicenow.ts`) wires the part; tools, resources and prompts are built on what it returns.
 *
 * Everything but the names of tables is loaded only when an instance is configured.
 */
export { kindsOf, plainId, relatedTables, tableNameOf, tableOfLink, tableOfNumber, tablesOfKind } from "./tables.ts";
export type { Servicenow, ServicenowRecords } from "./servicenow.ts";

/** Records, linked accounts and sign-in of one instance. */
export const loadServicenow = (): Promise<typeof import("./servicenow.ts")> => import("./servicenow.ts");
/** `resealLinks`: loaded for a change of the master key. */
export const loadLinkStore = (): Promise<typeof import("./link_store.ts")> => import("./link_store.ts");
/** `createFetchOnce`: loaded for `doctor`. */
export const loadTransport = (): Promise<typeof import("./transport.ts")> => import("./transport.ts");
/** The tools, resources and prompts over it. */
export const loadServicenowTools = (): Promise<typeof import("./servicenow_offer.ts")> =>
  import("./servicenow_offer.ts");
