/**
 * What modules that are themselves loaded late use of audit: the console's pages and a change of the master key.
 * A server's start loads none of it.
 */
export { resealAuditChains } from "./chain.ts";
export { searchAudit } from "./search.ts";
