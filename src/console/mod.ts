/** What other parts use of console. */
export { createDecisions, type Decisions } from "./approvals/decisions.ts";
export { type FindStates, gateTool } from "./approvals/gate.ts";
export { gateResources } from "./approvals/gate_resources.ts";
export { type FindTrueNames, judgeByNames, type PlaceReader } from "./approvals/places.ts";
export { createRuleStore, type JudgedCall, type Rule, type RuleStore } from "./approvals/rule.ts";
export { type AttemptRecorder, createAttemptRecorder } from "./connections/recorder.ts";
export type { AttemptReport } from "./connections/report.ts";
export { openStepLog, type StepLog } from "./connections/step.ts";
export { type Live, openLive } from "./live/live.ts";
export type { SearchAudit } from "./pages/audit.ts";
export type { Changes } from "./pages/audit.ts";
export type { Usage } from "./pages/connections.ts";

export type { ConnectedClient, HealthFact } from "./pages/overview.ts";

export const loadReport = (): Promise<typeof import("./connections/report.ts")> => import("./connections/report.ts");
