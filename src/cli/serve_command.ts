/** `serve`: starts the server behind the permission wall, prints its address, drains it when asked to stop. */
import { describeProblems, serverWorkerUrl, startSandboxedServer } from "../app/mod.ts";
import { loadProgramModule } from "../lib/program.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";
import { lookForParts } from "./missing_parts.ts";
import { stopRequested, welcomeText } from "./welcome.ts";

/** Prints one line on standard output when it is ready: `portcullis listening on URL`. */
export const serveCommand: CommandWork = {
  usage: ["serve [FLAGS]"],
  takesNoWords: true,
  flags: {},
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
  const server = startSandboxedServer(config, entry, say);
  const missingParts = lookForParts(config); // before the worker is there, and this thread may connect no more
  const started = await Promise.race([server.started, insisted.then(() => null)]);
  if (started === null) return 1;
  if (started.kind === "refused") return endWith(say, started.text);
  if (started.kind === "failed") return endWith(say, `error: the server could not start: ${started.reason}\n`);
  const { serverUrl, port, setUpLink } = started;
  const welcome = welcomeText({ config, serverUrl, port, setUpLink, ...await missingParts() });
  await Promise.race([say(welcome), asked, server.ended]); // both may go to one pipe, whose reader may be slow
  print(`portcullis listening on ${serverUrl}\n`);
  const stopping = asked.then(() => {
    server.stop();
    return wait(config.server.shutdownTimeoutSeconds * 1_000 + unresponsiveMs);
  });
  const ended = await Promise.race([server.ended, stopping, insisted.then(() => "insisted" as const)]);
  if (ended === "insisted") return 1;
  if (ended === "too late") {
    return endWith(say, "error: the server does not stop: something in it keeps its thread busy\n");
  }
  if (ended.kind === "stopped") return 0;
  say(`error: the server stopped without being asked to: ${ended.reason}\nhint: start it again\n`);
  return 1;
}

/** Time to close everything, beyond SHUTDOWN_TIMEOUT for the requests in flight. */
const unresponsiveMs = 10_000;

function wait(milliseconds: number): Promise<"too late"> {
  return new Promise((resolve) => void setTimeout(() => resolve("too late"), milliseconds));
}
