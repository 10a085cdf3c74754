/**
 * The wiring: a configuration in, a running server out. Only the commands (`cli`) use it.
 *
 * - `loadConfig` reads every setting from flags, environment and file, and reports all problems together, without secrets.
 * - `startSandboxedServer` runs the server in a worker that holds the permissions its configuration names and no others;
 *   the main thread gives up its own. Deploy and stdio, which have no worker, are in `later.ts`.
 * - An expected refusal is a `Problem` with its remedy; an exception is a bug.
 *
 * Importing it opens no storage, workspace or connection.
 */
export { changeAdded, type Config, loadConfig } from "./config/config.ts";
export {
  formatDirectory,
  hasNames,
  leadsInto,
  lookAtPath,
  parseNamedDirectories,
  readAdded,
  writeAdded,
} from "./config/directories.ts";
export {
  type ConfigFile,
  type ConfigProblem,
  defaultConfigFileName,
  describeProblems,
  findSetting,
  type FoundSetting,
  isDeploy,
  readConfigFile,
  settings,
  settingSections,
  settingText,
  variableNames,
  warnOfMistypedNames,
} from "./config/settings.ts";
export type { Installation } from "./installation.ts";
export type { OwnerTrash } from "./owner_trash.ts";
export type { RunningServer } from "./running_server.ts";
export { giveUp, realPathBelow } from "./sandbox/permissions.ts";
export { serverWorkerUrl, startSandboxedServer } from "./sandboxed_server.ts";
export { serverUrlFor, servesTls } from "./server_url.ts";
