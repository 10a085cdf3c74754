/** What other parts use of console. */
export { createDecisions, type Decisions } from "./approvals/decisions.ts";
export { type FindStates, gateResources, gateTool } from "./approvals/gate.ts";
export { type FindTrueNames, judgeByNames, type PlaceReader } from "./approvals/places.ts";
export { createRuleStore, type JudgedCall, type Rule, type RuleStore } from "./approvals/rule.ts";
export { type AttemptRecorder, createAttemptRecorder } from "./connections/recorder.ts";
export { type AttemptReport, reportAttempts } from "./connections/report.ts";
export { openStepLog, type StepLog } from "./connections/step_log.ts";
export { type Live, openLive } from "./live/live.ts";
export { auditSection, type SearchAudit } from "./pages/audit.ts";
export { type Changes, changeSection } from "./pages/change.ts";
export { connectionsSection, type Usage } from "./pages/connections.ts";
export { createConsole } from "./pages/console.ts";
export { decisionsSection } from "./pages/decisions.ts";
export { liveSection } from "./pages/live.ts";
export {
  callsPart,
  type ConnectedClient,
  connectedPart,
  type HealthFact,
  overviewSection,
  refusedPart,
  waitingPart,
} from "./pages/overview.ts";
export { peopleSection } from "./pages/people.ts";
export { rulesSection } from "./pages/rules.ts";
export { ownAccount, servicenowSection } from "./pages/servicenow.ts";
export { settingsSection } from "./pages/settings_in_force.ts";
export { whySection } from "./pages/why.ts";
export const loadReport = (): Promise<typeof import("./connections/report.ts")> => import("./connections/report.ts");
