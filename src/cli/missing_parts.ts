/** The parts that a starting server runs without, for the console. */
import type { Config } from "../app/mod.ts";

/** How long a server that has started waits for Ollama to accept a connection before it says that none is there. */
const patienceMs = 500;

/**
 * Connects at once, since the caller may give up the network later. What it gives is called when the server has
 * started: one sentence a part, none when all are there. Only then does it take a timer, whose code a thread loads at
 * the first: most connections are made or refused by that time.
 */
export function lookForParts({ ollama, servicenow: { access, missing } }: Config): () => Promise<readonly string[]> {
  const connecting = isListening(ollama.host);
  const without = missing.length === 0
    ? "ServiceNow: not configured"
    : `ServiceNow: ${missing.join(" and ")} are missing`;
  return async () => [
    ...await inTime(connecting) ? [] : [`local models: Ollama does not answer at ${ollama.host.origin}`],
    ...access === undefined ? [without] : [],
  ];
}

interface Answer {
  value: boolean | undefined;
  readonly promise: Promise<boolean>;
}

function isListening({ hostname, port }: Config["ollama"]["host"]): Answer {
  const promise = Deno.connect({ hostname, port }).then((connection) => {
    connection.close();
    return answer.value = true;
  }, () => answer.value = false);
  const answer: Answer = { value: undefined, promise };
  return answer;
}

async function inTime({ value, promise }: Answer): Promise<boolean> {
  if (value !== undefined) return value;
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), patienceMs);
  return await Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
}
