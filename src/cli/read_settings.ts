/** The settings of one run: from flags, the environment and the configuration file, each read once. */
import {
  type Config,
  type ConfigFile,
  type ConfigProblem,
  type ConfigSources,
  defaultConfigFileName,
  findSetting,
  type FoundSetting,
  isDeploy,
  loadConfig,
  lookAtPath,
  readConfigFile,
  variableNames,
  warnOfMistypedNames,
} from "../app/mod.ts";
import type { Setting } from "../lib/settings.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { homeDirectory, pathBelow } from "../lib/system_path.ts";
import type { CommandContext } from "./command.ts";

/** Reads when it is first asked, and then says which variables are mistyped. */
export function readSettings(flags: CommandContext["flags"], say: CommandContext["say"], listens: boolean): {
  readonly load: () => Result<Config, readonly ConfigProblem[]>;
  readonly find: (setting: Setting<unknown>) => FoundSetting | undefined;
} {
  let config: Result<Config, readonly ConfigProblem[]> | undefined;
  const sources: Omit<ConfigSources, "file"> = {
    flags,
    env: environment,
    readFile: Deno.readTextFileSync,
    lookAt: lookAtPath,
    listens,
  };
  let file: ConfigFile | null = null;
  const load = (): Result<Config, readonly ConfigProblem[]> => {
    const read = findConfigFile(flags["config"]);
    if (!read.ok) return read;
    file = read.value;
    const warning = warnOfMistypedNames(environmentNames());
    if (warning !== null) void say(warning);
    return loadConfig({ ...sources, file });
  };
  return { load: () => config ??= load(), find: (setting) => findSetting(setting, { ...sources, file }, []) };
}

function findConfigFile(path: string | undefined): Result<ConfigFile | null, readonly ConfigProblem[]> {
  if (isDeploy(environment)) {
    const hint = "is not read on Deno Deploy: set its settings as variables of the app";
    return path === undefined ? success(null) : failure([{ field: "--config", hint }]);
  }
  if (path !== undefined) return readConfigFile(path, { known: variableNames, mayBeAbsent: false });
  const home = homeDirectory();
  if (home === null) return success(null);
  return readConfigFile(pathBelow(home, defaultConfigFileName), { known: variableNames, mayBeAbsent: true });
}

/** One variable at a time: the program may be allowed to read only some of them. */
const environment: Readonly<Record<string, string | undefined>> = new Proxy<Record<string, string | undefined>>({}, {
  get: (_, name) => typeof name === "string" ? Deno.env.get(name) : undefined,
});

/** All names, where all may be read. */
function environmentNames(): readonly string[] {
  return Deno.permissions.querySync({ name: "env" }).state === "granted" ? Object.keys(Deno.env.toObject()) : [];
}
