/** Which models agents will be offered, for the welcome of a server that starts. */
import type { Config } from "./config/config.ts";
import { parseJson } from "../lib/json.ts";
import { atMost } from "../lib/time.ts";
import { offerOf, problemWords, readModelList } from "../llm/mod_settings.ts";

/** How long a server that has started waits for the engine's answer before it says that none comes. */
const patienceMs = 500;
/** Of the answer that lists the models. */
const maxListBytes = 262_144;

type Installed = NonNullable<ReturnType<typeof readModelList>>;

/**
 * Asks at once, since the caller may give up the network later. What it gives is called when the server has started:
 * models that can be used, and in one sentence what is missing.
 */
export function lookForModels(
  settings: Config["ollama"],
): () => Promise<{ readonly names: readonly string[]; readonly problem: string | null }> {
  const { host, models } = settings;
  const silence = `${host.engine} does not answer at ${host.origin}`;
  const asking = askForModels(settings).catch(() => silence);
  return async () => {
    const answer = await atMost(patienceMs, asking, silence);
    if (typeof answer === "string") return { names: [], problem: answer };
    const { names, isUsable, problem } = offerOf(models, host, answer);
    return { names: isUsable ? names : [], problem: problem === null ? null : problemWords(problem) };
  };
}

/** By hand: fetch would use a proxy, and takes longer to load. HTTP/1.0 asks for an answer in one piece. */
async function askForModels({ host, apiKey }: Config["ollama"]): Promise<Installed | string> {
  const { protocol, hostname, port, baseUrl, origin, isLoopback, basicAuthorization } = host;
  const key = apiKey !== undefined && (protocol === "https" || isLoopback) ? `Bearer ${apiKey}` : undefined;
  const authorization = basicAuthorization ?? key;
  const { pathname, host: named } = new URL(host.isOllama ? "api/tags" : "models", baseUrl);
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
    if (status !== undefined && status !== "200") return `${host.engine} at ${origin} answers with status ${status}`;
    const body = text.slice(text.indexOf("\r\n\r\n"));
    const listed = readModelList(parseJson(body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1)));
    if (listed !== null) return listed;
    if (count === null || length === maxListBytes) {
      return `what answers at ${origin} is not ${host.isOllama ? "Ollama" : host.api}`;
    }
  }
}
