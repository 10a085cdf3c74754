/** The text on the console when the server starts. */
import { type Config, formatDirectory, registryAdvice, serverUrlFor } from "../app/mod.ts";
import { version } from "../lib/version.ts";
import { waitingWords } from "../lib/program_name.ts";
import type { Clock } from "../lib/time.ts";

/** Directories, the set-up link while there is no owner, and how to connect a client. Ends with a blank line. */
export function welcomeText(options: {
  readonly config: Config;
  readonly serverUrl: string;
  /** What it listens on; that of the settings unless given. */
  readonly port?: number;
  /** Whether it still waits for its first certificate. */
  readonly isWaiting?: boolean;
  readonly setUpLink: string | null;
  /** What the server does without, a sentence a part. */
  readonly missing: readonly string[];
  /** Allowed models that are known to be installed. */
  readonly models: readonly string[];
}): string {
  const { config, serverUrl, setUpLink, missing, models, port = config.http.port } = options;
  const { serverUrl: _published, ...http } = config.http;
  const local = serverUrlFor(http, port);
  const { access } = config.servicenow;
  const lines = [
    "",
    `Portcullis ${version}`,
    ...(local === serverUrl ? [] : [`  address     ${serverUrl}, listening on ${local}`]),
    `  workspace   ${placeOfWorkspace(config.workspace)}`,
    `  data        ${dataPlace(config.storage)}`,
    ...(models.length === 0 ? [] : [`  models      ${models.join(", ")}`]),
    ...(access === undefined ? [] : [`  ServiceNow  ${access.instance}`]),
    ...(missing.length === 0 ? [] : [`  without     ${missing.join("; ")}`]),
    ...options.isWaiting === true
      ? [
        "  certificate none yet, so clients cannot connect: the log says why, and `portcullis doctor`; it keeps trying",
      ]
      : [],
    "",
  ];
  if (config.servicenow.missing.length > 0) {
    lines.push(...registryAdvice(serverUrl, config.servicenow.missing), "");
  }
  if (setUpLink !== null) {
    lines.push("To set it up, open this link within 10 minutes:", `  ${setUpLink}`, "", waitingWords, "");
  } else {
    lines.push(
      "Connect a client, for example Claude Code:",
      `  claude mcp add --transport http portcullis ${serverUrl}/mcp`,
      "",
      ...config.console.pages === "on" ? [`See what it does, and stop it: ${serverUrl}/console`, ""] : [],
    );
  }
  return lines.join("\n") + "\n";
}

/** Names no address, which could hold a password. */
function dataPlace({ database, dataDir }: Config["storage"]): string {
  return database === undefined ? dataDir : "PostgreSQL";
}

/** Ctrl-C reaches the whole process group, and `deno task` forwards it too: one signal can arrive twice. */
const sameSignalMs = 500;

/**
 * Listens for signals from now on. `elapsed` is in milliseconds. Where Deno's watcher runs the program, it has to end
 * by the signal itself: the watcher ends with Ctrl-C alone, and otherwise waits for a change of a file.
 */
export function stopRequested(elapsed: Clock, isWatched = false) {
  const signals: readonly Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : isWatched
    ? ["SIGINT"]
    : ["SIGINT", "SIGTERM", "SIGHUP"];
  const asked = Promise.withResolvers<void>();
  const insisted = Promise.withResolvers<void>();
  let askedAt: number | null = null;
  const onSignal = (): void => {
    askedAt ??= elapsed();
    asked.resolve();
    if (elapsed() - askedAt >= sameSignalMs) insisted.resolve();
  };
  for (const signal of signals) Deno.addSignalListener(signal, onSignal);
  return {
    /** The first signal: drain and stop. */
    asked: asked.promise,
    /** A later signal: end at once. */
    insisted: insisted.promise,
  };
}

function placeOfWorkspace({ store, directories }: Config["workspace"]): string {
  return store === "disk" ? directories.map(formatDirectory).join(", ") : "in the database";
}
