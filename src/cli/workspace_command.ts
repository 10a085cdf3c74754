/** `workspace add|list|remove`: the directories of the workspace. */
import { changeAdded, type Config, formatDirectory, parseNamedDirectories, writeAdded } from "../app/mod.ts";
import { absolutePath, expandHome } from "../lib/system_path.ts";
import { type Action, commandOf, printTable, withConfig } from "./action.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";

/** Works beside a running server, which takes the change in once its calls are over. */
export const workspaceCommand: CommandWork = commandOf({
  usage: ["workspace add NAME=PATH[:ro]", "workspace list", "workspace remove NAME"],
  remarks: [
    "Each directory is a folder of the workspace; :ro is read-only for agents.",
    "A running server takes the change in when its calls are over. Where it has one directory without a",
    "name, start it again: that directory becomes a folder, too.",
  ],
  actions: { add: withDirectories(add), list: withDirectories(list), remove: withDirectories(remove) },
});

type Added = Parameters<typeof changeAdded>[1];
type Work = (config: Config, added: Added, context: CommandContext) => ExitStatus | Promise<ExitStatus>;

function withDirectories(work: Work): Action {
  const run = withConfig(async (config, context) => {
    if (config.workspace.store === "storage") {
      return endWith(context.say, "error: the workspace is in the database\nhint: set WORKSPACE_STORE=disk\n");
    }
    const added = config.workspace.directories.filter(({ isAdded }) => isAdded);
    return await work(config, added, context);
  });
  return { run };
}

async function add(config: Config, added: Added, context: CommandContext): Promise<ExitStatus> {
  const [word = ""] = context.words;
  const parsed = parseNamedDirectories(word);
  const [given, ...more] = parsed?.ok ? parsed.value : [];
  if (given === undefined || more.length > 0) {
    const hint = "such as code=~/code or code=~/code:ro";
    return endWith(context.say, `error: ${JSON.stringify(word)} is not NAME=PATH\nhint: ${hint}\n`, 2);
  }
  const path = absolutePath(expandHome(given.path) ?? given.path);
  if (!await isDirectory(path)) return endWith(context.say, `error: ${path} is not a directory\nhint: make it first\n`);
  return change(config, [...added, { ...given, path }], context, `${given.name} is added: ${path}`);
}

function remove(config: Config, added: Added, context: CommandContext): ExitStatus {
  const [name = ""] = context.words;
  const rest = added.filter((each) => each.name !== name);
  if (rest.length < added.length) return change(config, rest, context, `${name} is removed; its files stay`);
  const isSet = config.workspace.directories.some((each) => each.name === name);
  const hint = isSet ? "change WORKSPACE_DIR, which names it" : "see `portcullis workspace list`";
  return endWith(context.say, `error: no directory ${JSON.stringify(name)} was added\nhint: ${hint}\n`);
}

function change(config: Config, added: Added, { say }: CommandContext, done: string): ExitStatus {
  const changed = changeAdded(config, added);
  if (!changed.ok) return endWith(say, `error: ${changed.error.value}: it ${changed.error.hint}\n`);
  writeAdded(config.storage.dataDir, added);
  const { directories } = changed.value.workspace;
  const isRenamed = config.workspace.directories[0]?.name === "" || directories[0]?.name === "";
  const when = isRenamed ? "start the server again" : "a running server takes it in when its calls are over";
  return endWith(say, `${done}\nthe workspace: ${directories.map(formatDirectory).join(", ")}\n${when}\n`, 0);
}

async function list(config: Config, _added: Added, context: CommandContext): Promise<ExitStatus> {
  const listed = config.workspace.directories.map(async ({ name, path, isReadOnly, isAdded }) => {
    const access = isReadOnly ? "read" : "read and write";
    return [name || ".", await isDirectory(path) ? access : "away", isAdded ? "added" : "WORKSPACE_DIR", path];
  });
  const rows = await Promise.all(listed);
  return await printTable({ columns: ["NAME", "ACCESS", "FROM", "PATH"], rows, whenEmpty: "" }, context);
}

function isDirectory(path: string): Promise<boolean> {
  return Deno.stat(path).then((found) => found.isDirectory, () => false);
}
