/**
 * The stored audit for the owner: who did what, with which outcome, without contents or secrets. `app` feeds it with
 * the lines of requests and of the log; the console and `portcullis audit` search it.
 *
 * - A call never waits for its line, and lost lines are counted.
 * - Stored lines are chained under the master key, so `verifyAudit` names lines that were changed, removed or moved.
 * - Age and size are bounded (`trimAudit`).
 *
 * It also has the metrics for Prometheus and the spans for OpenTelemetry.
 */

export {
  auditHeads,
  type AuditParts,
  headText,
  parseHead,
  readCallsOfDay,
  resealAuditChains,
  trimAudit,
  verifyAudit,
  whyNoLine,
} from "./chain.ts";
export { callEvent, createAuditRecorder, limitStrangers, lineOfLog, lineOfRequest, touchedBy } from "./recorder.ts";
export { type AuditFilter, type FoundLine, type FoundPage, searchAudit } from "./recorder.ts";
export { createMetrics, type LimitName, type Metrics } from "./metrics.ts";
export { startTelemetry, type Telemetry } from "./telemetry.ts";
