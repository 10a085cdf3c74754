/** `serve`: starts the server behind the permission wall, prints its address, drains it when asked to stop. */
import { type Config, describeProblems, serverWorkerUrl, startSandboxedServer } from "../app/mod.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { loadProgramModule } from "../lib/program.ts";
import { atMost, pause } from "../lib/time.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";
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
  const { serverUrl, port, isWaiting, setUpLink } = started;
  const welcome = welcomeText({ config, serverUrl, port, isWaiting, setUpLink, ...await missingParts() });
  await Promise.race([say(welcome), asked, server.ended]); // both may go to one pipe, whose reader may be slow
  if (!isWaiting) print(`portcullis listening on ${serverUrl}\n`);
  if (setUpLink !== null) void server.connected.then((name) => void say(`${name} is connected.\n`));
  const stopping = asked.then(() => {
    server.stop();
    return pause(config.server.shutdownTimeoutSeconds * 1_000 + unresponsiveMs).then(() => "too late" as const);
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

/** How long a server that has started waits for Ollama's answer before it says that none comes. */
const patienceMs = 500;
/** Of the answer that lists the models. */
const maxListBytes = 262_144;
const maxNamesShown = 3;

interface Parts {
  /** Models that are allowed and installed. */
  readonly models: readonly string[];
  /** One sentence a part; none when all are there. */
  readonly missing: readonly string[];
}

/** Asks at once, since the caller may give up the network later. What it gives is called when the server has started. */
function lookForParts(config: Config): () => Promise<Parts> {
  const { ollama, workspace, servicenow: { access, missing } } = config;
  const silence = `Ollama does not answer at ${ollama.host.origin}`;
  const asking = askForModels(ollama).catch(() => silence);
  const readOnly = workspace.store === "disk" && isReadOnly(workspace.dir)
    ? [`changing files: this user cannot write to ${workspace.dir}`]
    : [];
  const servicenow = missing.length === 0 ? "not configured" : `${missing.join(" and ")} are missing`;
  return async () => {
    const { models, problem } = judgeModels(ollama.models, await atMost(patienceMs, asking, silence));
    return {
      models,
      missing: [
        ...readOnly,
        ...problem === null ? [] : [`local models: ${problem}`],
        ...access === undefined ? [`ServiceNow: ${servicenow}`] : [],
      ],
    };
  };
}

/** What Ollama's list of installed models, or its failure, means for the allowed models. */
export function judgeModels(
  allowed: readonly string[],
  answer: readonly string[] | string,
): { readonly models: readonly string[]; readonly problem: string | null } {
  if (typeof answer === "string") return { models: [], problem: answer };
  const installed = answer.map(withoutLatest);
  const absent = allowed.filter((name) => !installed.includes(withoutLatest(name)));
  const models = allowed.filter((name) => !absent.includes(name));
  if (absent.length === 0) return { models, problem: null };
  const others = installed.filter((name) => !/embed|bert|bge|minilm/i.test(name)).slice(0, maxNamesShown); // these write text
  const remedy = models.length === 0 && others.length > 0
    ? `set LLM_MODELS=${others.join(",")} to use what is`
    : `\`ollama pull ${absent[0]}\``;
  return { models, problem: `${absent.join(" and ")} ${absent.length === 1 ? "is" : "are"} not installed; ${remedy}` };
}

function withoutLatest(name: string): string {
  return name.replace(/:latest$/, "");
}

/** By hand: fetch would use a proxy, and takes longer to load. HTTP/1.0 asks for an answer in one piece. */
async function askForModels({ host, apiKey }: Config["ollama"]): Promise<readonly string[] | string> {
  const { protocol, hostname, port, baseUrl, origin, isLoopback, basicAuthorization } = host;
  const key = apiKey !== undefined && (protocol === "https" || isLoopback) ? `Bearer ${apiKey}` : undefined;
  const authorization = basicAuthorization ?? key;
  const { pathname, host: named } = new URL("api/tags", baseUrl);
  const lines = [`GET ${pathname} HTTP/1.0`, `Host: ${named}`];
  if (authorization !== undefined) lines.push(`Authorization: ${authorization}`);
  using connection = await (protocol === "https" ? Deno.connectTls : Deno.connect)({ hostname, port });
  await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
  const buffer = new Uint8Array(maxListBytes);
  for (let length = 0;;) {
    const count = await connection.read(buffer.subarray(length));
    length += count ?? 0;
    const text = new TextDecoder().decode(buffer.subarray(0, length));
    const [, status] = /^HTTP\/1\.[01] (\d{3})/.exec(text) ?? [];
    if (status !== undefined && status !== "200") return `Ollama at ${origin} answers with status ${status}`;
    const body = text.slice(text.indexOf("\r\n\r\n"));
    const listed = parseJson(body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1));
    if (isObject(listed) && Array.isArray(listed["models"])) return listed["models"].map(({ name }) => String(name));
    if (count === null || length === maxListBytes) return `what answers at ${origin} is not Ollama`;
  }
}

/** Whether modes or mount forbid writing to an existing directory; group permissions count as allowed. */
function isReadOnly(path: string): boolean {
  try {
    const { mode, uid, gid } = Deno.statSync(path);
    const own = Deno.uid();
    const bits = own === uid ? 0o200 : gid === Deno.gid() ? 0o020 : 0o022;
    if (mode !== null && own !== 0 && (mode & bits) === 0) return true;
    Deno.renameSync(`${path}/.portcullis-absent`, `${path}/.portcullis-absent-too`); // a read-only mount answers first
    return false;
  } catch (error) {
    return error instanceof Error && /os error 30/.test(error.message);
  }
}
