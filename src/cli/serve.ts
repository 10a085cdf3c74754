/** `serve`: starts the server, says where, and stops it in good order. */
import type { Config } from "../config/config.ts";
import { describeProblems } from "../config/describe_problems.ts";
import { type App, buildApp } from "../app.ts";
import { openInstallation } from "../installation.ts";
import type { Peer } from "../http/endpoint.ts";
import { systemClock } from "../lib/clock.ts";
import { createJsonLog } from "../lib/json_log.ts";
import type { Tool } from "../mcp/tool.ts";
import { serverUrlFor } from "../server_url.ts";
import type { Command, CommandContext, ExitStatus } from "./command.ts";
import { installationProblem } from "./installation_problem.ts";
import { welcomeText } from "./welcome.ts";

/** Prints one line on standard output when it is ready: `portcullis listening on URL`. */
export const serveCommand: Command = {
  name: "serve",
  summary: "starts the server (the default)",
  usage: ["serve [--host H] [--port P] [--data-dir D] [--workspace W] [--server-url U]"],
  flags: {},
  run: (context) => serve(context, []),
};

/** Runs the server until it is told to stop; with tools beside its own, for programs built on this one. */
export async function serve(
  { words, loadConfig, print, say }: CommandContext,
  extraTools: readonly Tool[],
): Promise<ExitStatus> {
  if (words.length > 0) {
    say(`error: serve takes no words, but got ${words.map((word) => JSON.stringify(word)).join(", ")}\n`);
    return 2;
  }
  const loaded = loadConfig();
  if (!loaded.ok) {
    say(describeProblems(loaded.error));
    return 2;
  }
  const config = loaded.value;
  const installation = await openInstallation(config, systemClock);
  if (!installation.ok) {
    say(installationProblem(installation.error));
    return 1;
  }
  const log = createJsonLog({ write: say, level: config.logLevel, clock: systemClock });
  let app: App | undefined;
  try {
    const ready = Promise.withResolvers<App>();
    const server = listen(
      config,
      (request, peer) => app?.fetch(request, peer) ?? ready.promise.then((built) => built.fetch(request, peer)),
    );
    const serverUrl = serverUrlFor(config, server.addr.port);
    app = buildApp(config, { ...installation.value, serverUrl, log, clock: systemClock, extraTools });
    ready.resolve(app);
    say(welcomeText({ config, serverUrl, setUpLink: await app.issueSetUpLink() }));
    print(`portcullis listening on ${serverUrl}\n`);
    await stopRequested();
    log.write("info", "stopping");
    app.drain();
    await Promise.race([server.shutdown(), wait(config.shutdownTimeoutSeconds * 1_000)]);
    return 0;
  } catch (error) {
    if (!listenErrors.some((kind) => error instanceof kind)) throw error;
    say(
      `error: cannot listen on ${config.host} port ${config.port}: ${
        (error as Error).message
      }\nhint: choose another with --port or --host\n`,
    );
    return 1;
  } finally {
    await app?.close();
    log.flush();
    await installation.value.storage.close();
  }
}

const listenErrors = [Deno.errors.AddrInUse, Deno.errors.AddrNotAvailable, Deno.errors.PermissionDenied];

function listen(config: Config, fetch: App["fetch"]): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve(
    { hostname: config.host, port: config.port, onListen: () => {} },
    (request, info) => fetch(request, new ConnectionPeer(info)),
  );
}

/** Asks Deno for the address only when somebody wants it: most requests never do. */
class ConnectionPeer implements Peer {
  readonly #info: Deno.ServeHandlerInfo<Deno.NetAddr>;
  constructor(info: Deno.ServeHandlerInfo<Deno.NetAddr>) {
    this.#info = info;
  }
  get address(): string {
    return this.#info.remoteAddr.hostname;
  }
}

/** Resolves at the first signal to stop; a second one ends the process at once. */
function stopRequested(): Promise<void> {
  const signals: readonly Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT", "SIGBREAK"] : ["SIGINT", "SIGTERM"];
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = false;
  for (const signal of signals) {
    Deno.addSignalListener(signal, () => {
      if (asked) Deno.exit(1);
      asked = true;
      resolve();
    });
  }
  return promise;
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void Deno.unrefTimer(setTimeout(resolve, milliseconds)));
}
