/** What other parts use of app. */
export { type Config, loadConfig } from "./config/config.ts";
export {
  type ConfigFile,
  type ConfigProblem,
  defaultConfigFileName,
  describeProblems,
  readConfigFile,
} from "./config/config_file.ts";
export { type ConfigSources, findSetting, type FoundSetting, isDeploy, settingText } from "./config/find_setting.ts";
export { leadsInto, lookAtPath } from "./config/overlap.ts";
export { settings, settingSections, variableNames, warnOfMistypedNames } from "./config/settings.ts";
export type { Check } from "./doctor_places.ts";
export type { Installation } from "./installation.ts";
export type { OwnerTrash } from "./owner_trash.ts";
export { giveUp } from "./sandbox/permissions.ts";
export { type SandboxedServer, serverWorkerUrl, startSandboxedServer } from "./sandboxed_server.ts";
export { serverUrlFor } from "./server_url.ts";
export { registryAdvice } from "./servicenow_registry.ts";
export const loadDoctor = (): Promise<typeof import("./doctor.ts")> => import("./doctor.ts");
export const loadInstallation = (): Promise<typeof import("./installation.ts")> => import("./installation.ts");
export const loadCallRecords = (): Promise<typeof import("./call_records.ts")> => import("./call_records.ts");
export const loadDoctorServicenow = (): Promise<typeof import("./doctor_servicenow.ts")> =>
  import("./doctor_servicenow.ts");
export const loadLandlock = (): Promise<typeof import("./sandbox/landlock.ts")> => import("./sandbox/landlock.ts");
export const loadRotateMasterKey = (): Promise<typeof import("./rotate_master_key.ts")> =>
  import("./rotate_master_key.ts");
export const loadSandboxedWorkers = (): Promise<typeof import("./sandboxed_workers.ts")> =>
  import("./sandboxed_workers.ts");
export const loadStdioApp = (): Promise<typeof import("./stdio_app.ts")> => import("./stdio_app.ts");
export const loadDeployServer = (): Promise<typeof import("./deploy_server.ts")> => import("./deploy_server.ts");
export const loadLoadWorkspaceKernel = (): Promise<typeof import("./sandbox/load_workspace_kernel.ts")> =>
  import("./sandbox/load_workspace_kernel.ts");
export const loadPermissions = (): Promise<typeof import("./sandbox/permissions.ts")> =>
  import("./sandbox/permissions.ts");
export const loadOwnerTrash = (): Promise<typeof import("./owner_trash.ts")> => import("./owner_trash.ts");
