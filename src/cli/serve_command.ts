/** `serve`: starts the server behind the permission wall, prints its address, drains it when asked to stop. */
import {
  changeAdded,
  type Config,
  describeProblems,
  formatDirectory,
  hasNames,
  readAdded,
  serverWorkerUrl,
  startSandboxedServer,
} from "../app/mod.ts";
import { loadProgramModule } from "../lib/program.ts";
import { setUpWords } from "../lib/program_name.ts";
import { isReadOnly } from "../lib/system_path.ts";
import { pause } from "../lib/time.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";
import { stopRequested, welcomeText } from "./welcome.ts";

/** Prints `portcullis listening on URL` on standard output when it is ready, unless a terminal shows the welcome. */
export const serveCommand: CommandWork = {
  usage: ["serve [FLAGS]"],
  takesNoWords: true,
  switches: { watched: "for `deno task dev`: SIGTERM ends it at once, since Deno's watcher outlives what it watches" },
  isServer: true,
  run: (context) => serve(context, serverWorkerUrl(), { isWatched: context.flags["watched"] !== undefined }),
};

/**
 * Runs the server until a signal stops it. `entry` is the module of its worker, which calls `runServerInWorker`; a
 * program built on this one passes its own, with more tools.
 */
export async function serve(
  { loadConfig, print, say }: Pick<CommandContext, "loadConfig" | "print" | "say">,
  entry: URL,
  { isWatched = false }: { readonly isWatched?: boolean } = {},
): Promise<ExitStatus> {
  const loaded = loadConfig();
  if (!loaded.ok) return endWith(say, describeProblems(loaded.error), 2);
  const config = loaded.value;
  if (config.onDeploy) {
    if (entry.href !== serverWorkerUrl().href) {
      return endWith(
        say,
        "error: on Deno Deploy there is no worker\nhint: call serveOnDeploy of src/cli/serve_on_deploy_command.ts instead\n",
      );
    }
    const { serveOnDeploy } = await loadProgramModule<typeof import("./serve_on_deploy_command.ts")>(
      "src/cli/serve_on_deploy_command.ts",
    );
    return await serveOnDeploy(config, { print, say }, []);
  }
  const { asked, insisted } = stopRequested(() => performance.now(), isWatched); // before the start is reported, which a client may precede
  const { store, directories } = config.workspace;
  const readOnly = directories.filter((each) => store === "disk" && !each.isReadOnly && isReadOnly(each.path));
  let server = startSandboxedServer(config, entry, say); // which gives up this thread's permissions
  const started = await Promise.race([server.started, insisted.then(() => null)]);
  if (started === null) return 1;
  if (started.kind === "refused") return endWith(say, started.text);
  if (started.kind === "failed") return endWith(say, `error: the server could not start: ${started.reason}\n`);
  const { serverUrl, port, isWaiting, setUpLink } = started;
  const welcome = welcomeText(config, { ...started, readOnly: readOnly.map(({ path }) => path) });
  await Promise.race([say(welcome), asked, server.ended]); // both may go to one pipe, whose reader may be slow
  const isForPeople = Deno.stdout.isTerminal() && Deno.stderr.isTerminal(); // who have read the welcome
  if (!isWaiting && !isForPeople) print(`portcullis listening on ${serverUrl}\n`);
  if (setUpLink !== null) void server.connected.then((name) => void say(`${name} is connected.\n`));
  const patience = () =>
    pause(config.server.shutdownTimeoutSeconds * 1_000 + unresponsiveMs).then(() => ({ kind: "too late" } as const));
  let isAsked = false;
  const stopping = asked.then(() => {
    isAsked = true;
    server.stop();
    return patience();
  });
  const outcome = () => Promise.race([server.ended, stopping, insisted.then(() => ({ kind: "insisted" } as const))]);
  let ended = await Promise.race([outcome(), changeOf(config, say)]);
  while (ended.kind === "changed") {
    const { next } = ended;
    server.stop();
    ended = await Promise.race([outcome(), patience()]);
    if (isAsked || ended.kind !== "stopped") break;
    server.end();
    server = startSandboxedServer(next, entry, say, port);
    const again = await Promise.race([server.started, insisted.then(() => null)]);
    if (again === null) return 1;
    if (again.kind === "refused") return endWith(say, again.text);
    if (again.kind === "ready" && again.setUpLink !== null) say(setUpWords(again.setUpLink));
    if (isAsked) server.stop();
    ended = await Promise.race([outcome(), changeOf(next, say)]);
  }
  switch (ended.kind) {
    case "stopped":
      return 0;
    case "insisted":
      return 1;
    case "too late":
      return endWith(say, "error: the server does not stop: something in it keeps its thread busy\n");
    case "failed":
      return endWith(say, `error: the server stopped without being asked to: ${ended.reason}\nhint: start it again\n`);
  }
}

/** How often the list of added directories is looked at. */
const lookMs = 1_000;

/** The configuration with other directories, once their list has changed; never where a change needs another start. */
async function changeOf(config: Config, say: CommandContext["say"]): Promise<{ kind: "changed"; next: Config }> {
  const inForce = config.workspace.directories.filter(({ isAdded }) => isAdded);
  let known = inForce.map(formatDirectory).join("\n");
  for (;;) {
    await (hasNames(config.workspace) ? pause(lookMs) : Promise.withResolvers<void>().promise);
    const added = readAdded(config.storage.dataDir);
    const now = added.ok ? added.value.map(formatDirectory).join("\n") : added.error.hint;
    if (now === known) continue;
    known = now;
    const changed = added.ok ? changeAdded(config, added.value) : added;
    if (changed.ok) return { kind: "changed", next: changed.value };
    say(`error: the directories stay as they are: ${changed.error.value} ${changed.error.hint}\n`);
  }
}

/** Time to close everything, beyond SHUTDOWN_TIMEOUT for the requests in flight. */
const unresponsiveMs = 10_000;
