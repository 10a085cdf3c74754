/**
 * The console's pages, for `app`, which loads them with the first request below `/console`. A start waits for none of
 * them, and with `CONSOLE=off` they are not loaded at all. Each section renders a page for one visitor.
 */
export { reportAttempts } from "./connections/report.ts";
export { auditSection, changeSection } from "./pages/audit.ts";
export { connectionsSection, ownAccount, servicenowSection } from "./pages/connections.ts";
export { createConsole } from "./pages/console.ts";
export { decisionsSection } from "./pages/decisions.ts";
export { liveSection } from "./pages/live.ts";
export { callsPart, connectedPart, overviewSection, refusedPart, waitingPart } from "./pages/overview.ts";
export { peopleSection } from "./pages/people.ts";
export { rulesSection } from "./pages/rules.ts";
export { settingsSection } from "./pages/settings_in_force.ts";
export { whySection } from "./pages/why.ts";
