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
export { serverWorkerUrl, startSandboxedServer } from "./sandboxed_server.ts";
export { serverUrlFor } from "./server_url.ts";
export { registryAdvice } from "./servicenow_registry.ts";
