/**
 * The console: people see what their agents do, and approve or stop it. `app` wires it; nothing here knows Hono.
 *
 * - approvals: rules that allow, hold or refuse calls; a held call waits for a person and runs once, as it was approved.
 *   Until the decision the caller learns nothing of what the call would find.
 * - connections: the steps of each client's attempt to connect, and why one failed. No step holds a secret.
 * - live: the calls that run, on every instance, and the switches that stop them.
 * - notices: tells the owner at once, at an address of the owner's, with a link to the page.
 * - view: what a client shows of a result in the chat (MCP Apps).
 * - pages: the sections of `/console`. Each shows visitors their own things, and administrators everyone's.
 */
export { createDecisions } from "./approvals/decisions.ts";
export { type FindStates, gateResources, gateTool } from "./approvals/gate.ts";
export { createRuleStore, judgeByNames, mapPaths } from "./approvals/rule.ts";
export type { FindTrueNames, PlaceReader, Rule } from "./approvals/rule.ts";
export { type AttemptRecorder, createAttemptRecorder } from "./connections/recorder.ts";
export type { AttemptReport } from "./connections/report.ts";
export { openStepLog, readStoredSteps, type StepLog } from "./connections/step.ts";
export { type Live, openLive } from "./live/live.ts";
export type { ConsoleSources } from "./pages/section.ts";
export { viewResource } from "./view/view.ts";

/**
 * The pages, loaded with the first request below `/console`: a start waits for none of them, and with `CONSOLE=off` they
 * are not loaded at all. Each section renders a page for one visitor.
 */
export const loadConsolePages = (): Promise<typeof import("./pages/console.ts")> => import("./pages/console.ts");
/** How clients tried to connect, from the stored steps. */
export const loadAttemptReports = (): Promise<typeof import("./connections/report.ts")> =>
  import("./connections/report.ts");
/** What the owner is told at once, and where it goes. */
export const loadNotices = (): Promise<typeof import("./notices/notices.ts")> => import("./notices/notices.ts");
