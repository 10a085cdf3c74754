/**
 * The stored audit for the owner: who did what, with which outcome, without contents or secrets. `app` feeds it with the
 * lines of requests and of the log; the console and `portcullis audit` search it.
 *
 * Promises: a call never waits for its line; lines are lost only where that is counted; what is stored is chained under
 * the master key, so that `verifyAudit` names what was changed, removed or moved; age and size are bounded (`trimAudit`).
 * Beside it, what a server tells machines: metrics for Prometheus, spans for OpenTelemetry.
 */

export { type AuditParts, readCallsOfDay } from "./chain.ts";
export { type AuditLine, callEvent, lineOfLog, lineOfRequest, touchedBy } from "./line.ts";
export type { Counts, LimitName, Metrics } from "./metrics.ts";
export { observeStorage } from "./observed_storage.ts";
export { createAuditRecorder, limitStrangers } from "./recorder.ts";
export { trimAudit } from "./retention.ts";
export type { AuditFilter, FoundLine, FoundPage } from "./search.ts";
export { findTelemetry, startTelemetry, type Telemetry } from "./telemetry.ts";

export const loadMetrics = (): Promise<typeof import("./metrics.ts")> => import("./metrics.ts");
export const loadTracedModel = (): Promise<typeof import("./traced_model.ts")> => import("./traced_model.ts");
export const loadVerify = (): Promise<typeof import("./verify.ts")> => import("./verify.ts");
export const loadSearch = (): Promise<typeof import("./search.ts")> => import("./search.ts");
