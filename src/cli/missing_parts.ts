/** The parts that a starting server runs without, for the console. */
import type { Config } from "../app/mod.ts";
import { isObject, parseJson } from "../lib/json.ts";

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

/**
 * Asks at once, since the caller may give up the network later. What it gives is called when the server has started.
 * Only then does it take a timer, whose code a thread loads at the first: most answers are there by that time.
 */
export function lookForParts(config: Config): () => Promise<Parts> {
  const { ollama, workspace, servicenow: { access, missing } } = config;
  const asking = remember(askForModels(ollama).catch(() => `Ollama does not answer at ${ollama.host.origin}`));
  const readOnly = workspace.store === "disk" && isReadOnly(workspace.dir)
    ? [`changing files: this user cannot write to ${workspace.dir}`]
    : [];
  const servicenow = missing.length === 0 ? "not configured" : `${missing.join(" and ")} are missing`;
  return async () => {
    const { models, problem } = judgeModels(ollama.models, await inTime(asking, ollama.host.origin));
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

/** What an answer that lists the installed models, or why there is none, means for those that are allowed. */
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

/** Whether a directory that is there cannot be written, as far as its modes and its mount tell; groups count as allowed. */
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

interface Answer<T> {
  value: T | undefined;
  readonly promise: Promise<T>;
}

function remember<T>(asked: Promise<T>): Answer<T> {
  const answer: Answer<T> = { value: undefined, promise: asked.then((value) => answer.value = value) };
  return answer;
}

async function inTime<T>({ value, promise }: Answer<T>, origin: string): Promise<T | string> {
  if (value !== undefined) return value;
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve(`Ollama does not answer at ${origin}`), patienceMs);
  return await Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
}
