/** The text on the console when the server starts. */
import { type Config, formatDirectory, type RunningServer, serverUrlFor } from "../app/mod.ts";
import { version } from "../lib/version.ts";
import { setUpWords, waitingWords } from "../lib/program_name.ts";
import type { Clock } from "../lib/time.ts";

/** Directories, the set-up link while there is no owner, and how to connect a client. Ends with a blank line. */
export function welcomeText(
  config: Config,
  { serverUrl, port, isWaiting, setUpLink, models, readOnly = [] }: Omit<RunningServer, "stop"> & {
    /** Directories of the workspace that cannot be written to. */
    readonly readOnly?: readonly string[];
  },
): string {
  const { serverUrl: _published, ...http } = config.http;
  const local = serverUrlFor(http, port);
  const { servicenow: { access, missing }, workspace, storage: { database, dataDir } } = config;
  const without = [
    ...readOnly.map((path) => `changing files: this user cannot write to ${path}`),
    ...models.problem === null ? [] : [withoutModels(config.ollama, models.problem, models.isAway)],
    ...missing.length === 0 ? [] : [`ServiceNow: ${missing.join(" and ")} are missing`],
  ];
  const lines = [
    "",
    `Portcullis ${version}`,
    ...(local === serverUrl || http.publicDomain !== undefined
      ? []
      : [`  address     ${serverUrl}, listening on ${local}`]),
    `  workspace   ${
      workspace.store === "disk" ? workspace.directories.map(formatDirectory).join(", ") : "in the database"
    }`,
    `  data        ${database === undefined ? dataDir : "PostgreSQL"}`, // whose address could hold a password
    ...(models.names.length === 0 ? [] : [`  models      ${models.names.join(", ")}`]),
    ...(access === undefined ? [] : [`  ServiceNow  ${access.instance}`]),
    ...(without.length === 0 ? [] : [`  without     ${without.join("; ")}`]),
    ...isWaiting
      ? [
        "  certificate none yet, so clients cannot connect: the log says why, and `portcullis doctor`; it keeps trying",
      ]
      : [],
    "",
  ];
  if (setUpLink !== null) {
    lines.push(setUpWords(setUpLink), waitingWords, "");
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

/** Where no Ollama was set up either, that none runs is no fault: `doctor` says how to have one. */
function withoutModels({ host, models }: Config["ollama"], problem: string, isAway: boolean): string {
  const isUnset = models === undefined && host.origin === "http://127.0.0.1:11434";
  return isUnset && isAway ? "local models (no Ollama)" : `local models: ${problem}`;
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
