/**
 * The console's pages, for `app`, which loads them with the first request below `/console`. A start waits for none of
 * them, and with `CONSOLE=off` they are not loaded at all. Each section renders a page for one visitor.
 */
export { type AttemptReport, reportAttempts } from "./connections/report.ts";
export { readStoredSteps } from "./connections/step.ts";
export { openConsole } from "./pages/sections.ts";
