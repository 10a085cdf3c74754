/** What other parts use of audit once they are loaded later themselves. */
export { resealAuditChains } from "./chain.ts";
export { expose, expositionType } from "./metrics.ts";
export { searchAudit } from "./search.ts";
