/** The parts that a starting server runs without, for the console. */
import type { Config } from "../config/config.ts";

/** How long a start waits for Ollama to accept a connection. */
const patienceMs = 500;

/** Connects at once, since the caller may give up the network later. One sentence a part; none when all are there. */
export async function missingParts({ ollama, servicenow: { access, missing } }: Config): Promise<readonly string[]> {
  const listens = await isListening(ollama.host);
  const without = missing.length === 0
    ? "ServiceNow: not configured"
    : `ServiceNow: ${missing.join(" and ")} are missing`;
  return [
    ...listens ? [] : [`local models: Ollama does not answer at ${ollama.host.origin}`],
    ...access === undefined ? [without] : [],
  ];
}

async function isListening({ hostname, port }: Config["ollama"]["host"]): Promise<boolean> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), patienceMs);
  const connecting = Deno.connect({ hostname, port }).then((connection) => {
    connection.close();
    return true;
  }, () => false);
  return await Promise.race([connecting, late.promise]).finally(() => clearTimeout(timer)) ?? false;
}
