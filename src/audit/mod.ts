/** What other parts use of audit. */

export { type AuditParts, readCallsOfDay } from "./chain.ts";
export { type AuditLine, callEvent, lineOfLog, lineOfRequest, touchedBy } from "./line.ts";
export type { Counts, LimitName, Metrics } from "./metrics.ts";
export { observeStorage } from "./observed_storage.ts";
export { createAuditRecorder, limitStrangers } from "./recorder.ts";
export { trimAudit } from "./retention.ts";
export type { AuditFilter, FoundLine, FoundPage } from "./search.ts";
export { findTelemetry, startTelemetry, type Telemetry } from "./telemetry.ts";

export const loadMetrics = (): Promise<typeof import("./metrics.ts")> => import("./metrics.ts");
export const loadObservedStorage = (): Promise<typeof import("./observed_storage.ts")> =>
  import("./observed_storage.ts");
export const loadTracedModel = (): Promise<typeof import("./traced_model.ts")> => import("./traced_model.ts");
export const loadVerify = (): Promise<typeof import("./verify.ts")> => import("./verify.ts");
export const loadSearch = (): Promise<typeof import("./search.ts")> => import("./search.ts");
