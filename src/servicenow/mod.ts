/** What other parts use of servicenow. */

export { tableNameOf, tableOfNumber } from "./tables.ts";

export { listOf } from "./outcome_tool.ts";
export type { Servicenow, ServicenowRecords } from "./servicenow.ts";
export { relatedTables, tablesOfKind } from "./tables.ts";

export type { Transport, UpstreamRequest } from "./transport.ts";
export const loadServicenow = (): Promise<typeof import("./servicenow.ts")> => import("./servicenow.ts");
export const loadServicenowTools = (): Promise<typeof import("./servicenow_tools.ts")> =>
  import("./servicenow_tools.ts");
export const loadAttachTool = (): Promise<typeof import("./attach_tool.ts")> => import("./attach_tool.ts");
export const loadResources = (): Promise<typeof import("./resources.ts")> => import("./resources.ts");
export const loadPrompts = (): Promise<typeof import("./resources.ts")> => import("./resources.ts");
